"""PyTorch: norms, feed-forward, loss, optimiser and matrix products in the cases of `rapt bench layers` and `gemm`."""

import common

PRODUCTS = [(512, 512, 512), (2048, 512, 512), (2048, 2048, 512), (2048, 512, 2048), (4096, 1024, 256),
            (6400, 256, 256), (64, 512, 512), (8, 512, 512), (1, 512, 512), (64, 2048, 512), (8, 2048, 512),
            (1, 2048, 512), (512, 2048, 512), (1024, 32000, 512)]


def norms(torch):
    f = torch.nn.functional
    x, y, dy = torch.randn(6400, 512), torch.randn(6400, 512), torch.randn(6400, 512)
    gamma, beta = torch.randn(512), torch.randn(512)
    for leaf in (x, y, gamma, beta):
        leaf.requires_grad_()
    scores = torch.randn(12800, 100)

    def norm():
        return f.layer_norm(x, (512,), gamma, beta)

    def add_norm():
        return f.layer_norm(x + f.dropout(y, 0.1), (512,), gamma, beta)

    def quietly(run):
        with torch.no_grad():
            run()

    def backward(out, *leaves):
        return lambda: torch.autograd.grad(out, leaves, dy, retain_graph=True)

    shape = {"rows": 6400, "width": 512}
    return {"layer_norm_forward": (lambda: quietly(norm), shape),
            "layer_norm_backward": (backward(norm(), x, gamma, beta), shape),
            "dropout_add_norm_forward": (add_norm, shape),
            "dropout_add_norm_backward": (backward(add_norm(), x, y, gamma, beta), shape),
            "dropout_forward": (lambda: f.dropout(y, 0.1), shape),
            "softmax_forward_12800x100": (lambda: f.softmax(scores, 1), {"rows": 12800, "width": 100})}


def feed_forward(torch):
    nn = torch.nn
    net = nn.Sequential(nn.Linear(512, 2048), nn.ReLU(), nn.Dropout(0.1), nn.Linear(2048, 512))
    x, dy = torch.randn(64, 100, 512, requires_grad=True), torch.randn(64, 100, 512)

    def evaluate():
        net.eval()
        with torch.no_grad():
            net(x)

    def train():
        net.train()
        return net(x)

    shape = {"B": 64, "T": 100, "d_model": 512, "d_ff": 2048}
    return {"feed_forward_eval": (evaluate, shape), "feed_forward_train_forward": (train, shape),
            "feed_forward_train_forward_backward":
                (lambda: torch.autograd.grad(train(), [x, *net.parameters()], dy), shape)}


def loss(torch):
    cases = {}
    for rows, classes in ((1024, 32000), (4096, 9712)):
        logits, target = torch.randn(rows, classes, requires_grad=True), torch.randint(classes, (rows,))

        def value(logits=logits, target=target):
            return torch.nn.functional.cross_entropy(logits, target, label_smoothing=0.1)

        def forward(value=value):
            with torch.no_grad():
                value()

        shape = {"rows": rows, "vocabulary": classes}
        cases[f"cross_entropy_smoothed_forward_{classes}"] = (forward, shape)
        cases[f"cross_entropy_smoothed_forward_backward_{classes}"] = (
            lambda value=value, logits=logits: torch.autograd.grad(value(), logits), shape)
    return cases


def optimizer(torch):
    """With the reset of the gradients, which rapt's step does in the same pass."""
    shapes = [(32000, 512)] + 14 * [(2048, 512), (512, 2048), (1536, 512), (512, 512)] + 60 * [(512,)]
    weights = [torch.nn.Parameter(torch.randn(shape)) for shape in shapes]
    for weight in weights:
        weight.grad = torch.randn_like(weight)
    cases = {}
    for kind in ("Adam", "AdamW"):
        adam = getattr(torch.optim, kind)(weights, lr=1e-3, fused=True)

        def step(adam=adam):
            adam.step()
            adam.zero_grad(set_to_none=False)

        cases[kind.lower() + "_fused"] = (step, {"parameters": sum(w.numel() for w in weights)})
    return cases


def products(torch):
    for m, n, k in PRODUCTS:
        x, w, out = torch.randn(m, k), torch.randn(k, n), torch.empty(m, n)
        xt, wt = x.t().contiguous(), w.t().contiguous()
        tag, shape = f"float32_{m}x{n}x{k}", {"M": m, "N": n, "K": k}
        yield {"gemm_nn_" + tag: (lambda x=x, w=w, o=out: torch.matmul(x, w, out=o), shape),
               "gemm_nt_" + tag: (lambda x=x, w=wt, o=out: torch.matmul(x, w.t(), out=o), shape),
               "gemm_tn_" + tag: (lambda x=xt, w=w, o=out: torch.matmul(x.t(), w, out=o), shape)}


def main():
    args = common.options(__doc__, group={"choices": ["layers", "gemm"], "default": "layers"})
    torch = common.torch_of(args)
    layers = (make(torch) for make in (norms, feed_forward, loss, optimizer))
    for cases in products(torch) if args.group == "gemm" else layers:
        for name, times in common.interleave({name: run for name, (run, _) in cases.items()}, args).items():
            common.emit(peer="torch", case=name, threads=args.threads, dtype="float32", shape=cases[name][1], **times)


if __name__ == "__main__":
    main()
