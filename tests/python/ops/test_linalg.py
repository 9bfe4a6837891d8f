"""Decompositions and what is made of them: by reconstruction, by value where LAPACK's is unique."""

import pytest
import torch

DTYPES = [torch.float32, torch.complex128]
TOLERANCE = {
    torch.float32: 2e-5,
    torch.complex64: 2e-5,
    torch.float64: 1e-12,
    torch.complex128: 1e-12,
}
# Batches of tall, wide, square, single, empty matrices; 100 is more than one panel of LU.
SHAPES = [(2, 5, 3), (3, 5), (0, 3, 3), (3, 0), (100, 90)]
SQUARE = [(2, 1, 7, 7), (0, 3, 3), (0, 0), (100, 100)]
GEN = torch.Generator().manual_seed(0)

pytestmark = pytest.mark.usefixtures("no_fallback")


@pytest.fixture
def no_fallback():
    before = dict(torch.tpu.stats()["fallbacks"])
    yield
    assert dict(torch.tpu.stats()["fallbacks"]) == before


def close(actual, expected, scale=1.0):
    tolerance = TOLERANCE[expected.dtype] * scale
    torch.testing.assert_close(actual.cpu(), expected, rtol=tolerance, atol=tolerance)


def rand(shape, dtype):
    return torch.randn(shape, dtype=dtype, generator=GEN)


def check(op, *args, scale=10.0):
    """Values and shapes as on the CPU."""
    expected = op(*args)
    actual = op(*[a.to("tpu") if isinstance(a, torch.Tensor) else a for a in args])
    if isinstance(expected, torch.Tensor):
        expected, actual = [expected], [actual]
    for a, e in zip(actual, expected, strict=True):
        assert a.shape == e.shape
        if e.dtype in TOLERANCE:
            size = max(1.0, e.abs().max().item()) if e.numel() else 1.0
            close(a, e, scale * size)
        else:
            assert torch.equal(a.cpu(), e)


def check_orthonormal(q):
    identity = torch.eye(q.shape[-1], dtype=q.dtype).expand(*q.shape[:-2], -1, -1)
    close(q.mH @ q, identity)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_qr(shape, dtype):
    x = rand(shape, dtype)
    for mode in ("reduced", "complete", "r"):
        check(lambda x, mode=mode: torch.linalg.qr(x, mode), x)
    check(torch.geqrf, x)


@pytest.mark.parametrize("dtype", DTYPES)
def test_householder_products(dtype):
    packed, taus = torch.geqrf(rand((2, 6, 4), dtype))
    check(torch.linalg.householder_product, packed, taus)
    check(torch.linalg.householder_product, packed, taus[..., :2])
    for transpose in (False, True):
        check(
            lambda *a, t=transpose: torch.ormqr(*a, True, t), packed, taus, rand((2, 6, 3), dtype)
        )
        check(
            lambda *a, t=transpose: torch.ormqr(*a, False, t), packed, taus, rand((2, 3, 6), dtype)
        )


def test_qr_of_large_and_small_columns():
    x = rand((6, 6), torch.float32)
    for factor in (1e25, 1e-25, torch.tensor([1, 1, 1e-30, 1, 1, 1])):
        check(torch.linalg.qr, x * factor)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_lu(shape, dtype):
    x = rand(shape, dtype)
    check(torch.linalg.lu_factor_ex, x, scale=100)
    check(torch.linalg.lu, x, scale=100)
    factors, pivots = torch.linalg.lu_factor(x)
    check(torch.lu_unpack, factors, pivots)
    check(lambda *a: torch.lu_unpack(*a, unpack_data=False), factors, pivots)


def test_lu_reports_the_first_zero_pivot():
    x = torch.tensor([[[1.0, 2, 3], [2, 4, 6], [1, 1, 1]], [[1, 0, 0], [0, 1, 0], [0, 0, 1]]])
    check(torch.linalg.lu_factor_ex, x)
    check(torch.linalg.lu_factor_ex, torch.zeros(2, 3, 4))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SQUARE)
def test_systems(shape, dtype):
    n, batch = shape[-1], shape[:-2]
    a = rand(shape, dtype) + 3 * torch.eye(n, dtype=dtype)
    x = rand((*batch, n, 3), dtype)
    check(torch.linalg.solve, a, x, scale=100)
    check(torch.linalg.solve, a, x[..., 0], scale=100)
    check(lambda a, x: torch.linalg.solve(a, x, left=False), a, x.mT.contiguous(), scale=100)
    check(torch.linalg.solve, a, rand((n,), dtype), scale=100)
    factors, pivots = torch.linalg.lu_factor(a)
    for adjoint in (False, True):
        solve = lambda *t, c=adjoint: torch.linalg.lu_solve(*t, adjoint=c)  # noqa: E731
        check(solve, factors, pivots, x, scale=100)
        solve = lambda *t, c=adjoint: torch.linalg.lu_solve(*t, left=False, adjoint=c)  # noqa: E731
        check(solve, factors, pivots, x.mT.contiguous(), scale=100)
    check(torch.linalg.inv, a, scale=100)
    check(torch.linalg.inv_ex, a, scale=100)
    check(torch.linalg.det, a, scale=100)
    check(torch.linalg.slogdet, a, scale=100)


def test_singular_matrices_raise():
    singular = torch.ones(2, 3, 3, device="tpu")
    for op in (torch.linalg.inv, lambda a: torch.linalg.solve(a, a)):
        with pytest.raises(torch.linalg.LinAlgError):
            op(singular)
    with pytest.raises(RuntimeError):
        torch.linalg.lu_factor(singular)
    with pytest.raises(torch.linalg.LinAlgError):
        torch.linalg.cholesky(-torch.eye(3, device="tpu"))
    with pytest.raises(RuntimeError):
        torch.linalg.inv_ex(singular, check_errors=True)
        torch.tpu.synchronize()
    check(torch.linalg.det, torch.ones(2, 3, 3))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SQUARE)
def test_eigh(shape, dtype):
    x = rand(shape, dtype)
    for uplo in ("L", "U"):
        expected = torch.linalg.eigvalsh(x, uplo)
        values, vectors = (t.cpu() for t in torch.linalg.eigh(x.to("tpu"), uplo))
        size = max(1.0, expected.abs().max().item()) if expected.numel() else 1.0
        close(values, expected, size)
        close(torch.linalg.eigvalsh(x.to("tpu"), uplo), expected, size)
        check_orthonormal(vectors)
        strict = x.tril(-1) if uplo == "L" else x.triu(1)
        full = strict + strict.mH + torch.diag_embed(x.diagonal(dim1=-2, dim2=-1).real).to(dtype)
        close((vectors * values.unsqueeze(-2)) @ vectors.mH, full, size)


def hermitian_edges():
    eye = torch.eye(6, dtype=torch.float64)
    v = torch.linalg.qr(rand((6, 6), torch.float64))[0]
    yield "zero", eye * 0
    yield "identity", eye
    yield "plus and minus", v @ torch.diag(torch.tensor([1.0, 1, -1, -1, 2, -2]).double()) @ v.mT
    yield "clustered", v @ torch.diag(1 + torch.arange(6).double() * 1e-13) @ v.mT
    yield "graded", torch.diag(torch.tensor([1e-200, 1e-10, 1, 3, 1e8, 1e10]).double())
    yield "large", v @ torch.diag(torch.arange(6).double()) @ v.mT * 1e300
    yield "rank one", torch.ones(6, 6, dtype=torch.float64)


@pytest.mark.parametrize(
    ("name", "x"), list(hermitian_edges()), ids=lambda v: v if type(v) is str else ""
)
def test_eigh_and_svd_edges(name, x):
    size = x.abs().max().clamp(min=1).item()
    x = x / size
    x = (x + x.mT) / 2
    values, vectors = (t.cpu() for t in torch.linalg.eigh((x * size).to("tpu")))
    close(values / size, torch.linalg.eigvalsh(x))
    check_orthonormal(vectors)
    close((vectors * (values / size)) @ vectors.mT, x)
    u, s, vh = (t.cpu() for t in torch.linalg.svd((x * size).to("tpu")))
    close(s / size, torch.linalg.svdvals(x))
    check_orthonormal(u)
    check_orthonormal(vh.mT)
    close((u * (s / size)) @ vh, x)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_svd(shape, dtype):
    x = rand(shape, dtype)
    if x.shape[-1] > 2:
        x[..., -1] = x[..., 0]
    check(torch.linalg.svdvals, x)
    for full in (False, True):
        u, s, vh = (t.cpu() for t in torch.linalg.svd(x.to("tpu"), full_matrices=full))
        eu, es, evh = torch.linalg.svd(x, full_matrices=full)
        assert (u.shape, s.shape, vh.shape) == (eu.shape, es.shape, evh.shape)
        close(s, es, 10)
        k = s.shape[-1]
        close((u[..., :k] * s.unsqueeze(-2)) @ vh[..., :k, :], x, 10)
        check_orthonormal(u)
        check_orthonormal(vh.mH)


def test_decompositions_refuse_what_is_not_finite():
    x = torch.full((3, 3), float("nan"), device="tpu")
    for op in (torch.linalg.svd, torch.linalg.eigh):
        with pytest.raises(RuntimeError, match="finite"):
            op(x)
            torch.tpu.synchronize()


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex64])
def test_ranks_and_pseudoinverses(dtype):
    x = rand((2, 5, 3), dtype)
    x[..., 2] = x[..., 1]
    check(torch.linalg.matrix_rank, x)
    check(torch.linalg.pinv, x, scale=100)
    h = x @ x.mH
    check(lambda t: torch.linalg.pinv(t, hermitian=True, rtol=1e-4), h, scale=1000)
    check(lambda t: torch.linalg.matrix_rank(t, hermitian=True, rtol=1e-4), h)
    check(torch.linalg.cond, rand((2, 4, 4), dtype), scale=100)
    check(lambda t: torch.linalg.cond(t, 1), rand((2, 4, 4), dtype), scale=100)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(2, 5, 3), (3, 5), (0, 3), (3, 0)])
def test_lstsq(shape, dtype):
    a, b = rand(shape, dtype), rand((*shape[:-1], 2), dtype)
    for driver in ("gels", "gelsy", "gelsd", "gelss"):
        if 0 in shape and driver == "gels":
            continue  # LAPACK divides by zero there
        if driver != "gelsy":
            check(lambda *t, d=driver: torch.linalg.lstsq(*t, driver=d), a, b, scale=100)
    if a.numel():
        check(lambda *t: torch.linalg.lstsq(*t), a, b[..., 0], scale=100)
        a[..., -1] = a[..., 0]
        # By gelsd: the CPU's gelsy starts from column marks that nobody set, and is wrong at times.
        expected = torch.linalg.lstsq(a, b, rcond=1e-3, driver="gelsd")
        for driver in ("gelsy", "gelsd"):
            actual = torch.linalg.lstsq(a.to("tpu"), b.to("tpu"), rcond=1e-3, driver=driver)
            torch.testing.assert_close(
                actual.solution.cpu(), expected.solution, rtol=1e-3, atol=1e-3
            )
            assert actual.rank.tolist() == expected.rank.tolist()


@pytest.mark.parametrize("dtype", DTYPES)
def test_matrix_exp(dtype):
    x = rand((4, 5, 5), dtype) * torch.tensor([0, 1e-3, 1, 5]).view(4, 1, 1)
    check(torch.linalg.matrix_exp, x, scale=100)
    check(torch.linalg.matrix_exp, rand((0, 3, 3), dtype))
    check(torch.linalg.matrix_exp, torch.tensor([[0, 1], [-1, 0]], dtype=dtype) * 100, scale=1000)


GRADIENTS = {
    "matrix_exp": torch.linalg.matrix_exp,
    "lstsq": lambda x: torch.linalg.lstsq(x, x.mH + 1).solution,
    "qr": lambda x: torch.linalg.qr(x),
    "lu": lambda x: torch.linalg.lu(x)[1:],
    "solve": lambda x: torch.linalg.solve(x, x.mH + 1),
    "inv": torch.linalg.inv,
    "det": torch.linalg.det,
    "slogdet": torch.linalg.slogdet,
    "eigh": lambda x: (lambda e: (e[0], e[1].abs()))(torch.linalg.eigh(x + x.mH)),
    "svd": lambda x: (lambda u, s, v: (u.abs(), s, v.abs()))(*torch.linalg.svd(x)),
    "pinv": torch.linalg.pinv,
    "cholesky": lambda x: torch.linalg.cholesky(x @ x.mH),
}


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(name, dtype):
    x = rand((2, 4, 4), dtype) + 2 * torch.eye(4, dtype=dtype)
    grads = []
    for device in ("cpu", "tpu"):
        leaf = x.detach().to(device).requires_grad_()
        out = GRADIENTS[name](leaf)
        out = [out] if isinstance(out, torch.Tensor) else out
        sum((t * t.conj()).real.sin().sum() for t in out).backward()
        grads.append(leaf.grad.cpu())
    torch.testing.assert_close(grads[1], grads[0], rtol=1e-8, atol=1e-8)
