#include <cstdio>

int main() {
  std::puts("rapt");
  return 0;
}
