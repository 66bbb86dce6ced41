"""OpenDP's integer noise has the probabilities that our laws state for the same parameters."""

from __future__ import annotations

import numpy as np
import pytest

from sottovoce.noise import DiscreteGaussian, DiscreteLaplace

from ..samplers.statistics import fit

N = 40_000
FALSE_ALARM = 1e-8


def drawn(opendp, make, scale):
    space = opendp.vector_domain(opendp.atom_domain(T=int), size=N)
    distance = (
        opendp.l1_distance(T=int) if make is opendp.m.make_laplace else opendp.l2_distance(T=float)
    )
    return np.array(make(space, distance, scale=scale)([0] * N))


def p_value(law, numbers):
    width = law.reach(1e-12)
    k = np.arange(-width, width + 1)
    if np.abs(numbers).max() > width:
        return 0.0
    mass = np.exp(law.log_pmf(k))
    return fit(np.bincount(numbers + width, minlength=k.size), mass / mass.sum())


@pytest.mark.parametrize("scale", [0.5, 2.0, 13.0])
def test_discrete_laplace(opendp, scale):
    numbers = drawn(opendp, opendp.m.make_laplace, scale)
    assert p_value(DiscreteLaplace(scale), numbers) > FALSE_ALARM
    assert p_value(DiscreteLaplace(scale * 1.1), numbers) < FALSE_ALARM


@pytest.mark.parametrize("sigma", [0.5, 3.7, 20.0])
def test_discrete_gaussian(opendp, sigma):
    numbers = drawn(opendp, opendp.m.make_gaussian, sigma)
    assert p_value(DiscreteGaussian(sigma), numbers) > FALSE_ALARM
    assert p_value(DiscreteGaussian(sigma * 1.1), numbers) < FALSE_ALARM
