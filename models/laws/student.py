"""Student's t and Fisher's F, from the incomplete beta function.

SciPy has both, but importing ``scipy.special`` takes longer than fitting a table;
these two numbers are all that a fit needs of it.
"""

from __future__ import annotations

import functools
import math
from statistics import NormalDist

# Degrees of freedom from which an expansion around the normal is as good as exact.
_MANY = 4000.0


@functools.cache
def t_quantile(probability: float, dof: float) -> float:
    """The t that a variable of ``dof`` degrees of freedom stays below.

    Args:
      probability: Between 0.5 and 1.
      dof: Degrees of freedom, above 0; need not be whole.
    """
    z = NormalDist().inv_cdf(probability)
    if dof > _MANY:  # Abramowitz and Stegun 26.7.5
        return (
            z + (z**3 + z) / (4 * dof) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * dof**2)
        )
    # Twice the upper tail is I_x(dof / 2, 1 / 2) with x = dof / (dof + t**2), which
    # grows with x: halve the interval until it has no middle.
    tail, low, high = 2.0 * (1.0 - probability), 0.0, 1.0
    while low < (middle := 0.5 * (low + high)) < high:
        if incomplete_beta(0.5 * dof, 0.5, middle) < tail:
            low = middle
        else:
            high = middle
    return math.sqrt(dof * (1.0 - high) / high) if high > 0 else math.inf


def f_survival(value: float, dof: float, other_dof: float) -> float:
    """Probability that a ratio of two variances exceeds ``value`` by chance.

    Args:
      value: The ratio, 0 or more.
      dof, other_dof: Degrees of freedom of numerator and denominator.
    """
    x = other_dof / (other_dof + dof * value)
    return incomplete_beta(0.5 * other_dof, 0.5 * dof, x)


def incomplete_beta(a: float, b: float, x: float) -> float:
    """Regularised incomplete beta function I_x(a, b), DLMF 8.17.22.

    Args:
      a, b: Above 0.
      x: In [0, 1].
    """
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):  # where the fraction of the other side is faster
        return 1.0 - incomplete_beta(b, a, 1.0 - x)
    log_front = a * math.log(x) + b * math.log1p(-x) - math.log(a)
    log_front += math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    # It converges in a few times the square root of the larger argument.
    value = 1.0
    for m in range(20 + 4 * math.isqrt(int(max(a, b))), 0, -1):
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        value = 1.0 + even / (1.0 + odd / value)
    first = -(a + b) * x / (a + 1)
    return math.exp(log_front) / (1.0 + first / value)
