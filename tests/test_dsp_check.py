import math
import re
from fractions import Fraction

import numpy as np
import pytest

from dsp import check


class Owner:
    pass


OWNER = Owner()

# Each refusal names class, field, rule, value.
REFUSED = [
    (check.finite, (math.nan,), "Owner.x must be a finite number, got nan"),
    (check.finite, (math.inf, "V"), "Owner.x must be a finite number [V], got inf"),
    (check.finite, ("2",), "Owner.x must be a finite number, got '2'"),
    (check.finite, (True,), "Owner.x must be a finite number, got True"),
    (check.finite, (None,), "Owner.x must be a finite number, got None"),
    (check.finite, (1j,), "Owner.x must be a finite number, got 1j"),
    (check.positive, (0, "m"), "Owner.x must be greater than 0 [m], got 0"),
    (check.positive, (-1.5,), "Owner.x must be greater than 0, got -1.5"),
    (check.positive, (math.nan, "m"), "Owner.x must be a finite number [m], got nan"),
    (check.positive, (-3, "s", "a remedy"), "Owner.x must be greater than 0 [s], got -3 (a remedy)"),
    (check.not_negative, (-1e-9, "V"), "Owner.x must be 0 or more [V], got -1e-09"),
    (check.not_negative, (math.nan,), "Owner.x must be a finite number, got nan"),
    (check.between, (2, 0, 1, "UI"), "Owner.x must be from 0 to 1 [UI], got 2"),
    (check.between, (-0.1, 0, 1), "Owner.x must be from 0 to 1, got -0.1"),
    (check.between, (30, 0, 1, "m", "was 30 mm meant?"), "Owner.x must be from 0 to 1 [m], got 30 (was 30 mm meant?)"),
    (check.between, (-1.0, 0, 1, "m", "was -1.0 mm meant?"), "Owner.x must be from 0 to 1 [m], got -1.0"),
    (check.between, (-1.0, 0, 1, "m", "a remedy"), "Owner.x must be from 0 to 1 [m], got -1.0 (a remedy)"),
    (check.between, (math.nan, 0, 1), "Owner.x must be a finite number, got nan"),
    (check.count, (-1,), "Owner.x must be a whole number of 0 or more, got -1"),
    (check.count, (2.0, 1), "Owner.x must be a whole number of 1 or more, got 2.0"),
    (check.count, (9, 1, 8), "Owner.x must be a whole number from 1 to 8, got 9"),
    (check.count, (True,), "Owner.x must be a whole number of 0 or more, got True"),
    (check.one_of, ("c", ("a", "b")), "Owner.x must be one of a, b, got 'c'"),
    (check.instance, (1, str), "Owner.x must be a str, got 1"),
    (check.instance, (1.0, (str, int)), "Owner.x must be a str or int, got 1.0"),
    (check.numbers, ([1.0],), "Owner.x must be a tuple of numbers, got [1.0] (lists are not hashable; write (a, b))"),
    (check.numbers, ((1.0,), 2), "Owner.x must be a tuple of 2 or more numbers, got (1.0,)"),
    (check.numbers, ((1.0, math.nan),), "Owner.x[1] must be a finite number, got nan"),
    (check.symbol_rate, (math.nan,), "Owner.x must be a finite number [Bd], got nan"),
    (check.symbol_rate, (0,), "Owner.x must be from 1e+06 to 1e+12 [Bd], got 0"),
    (check.symbol_rate, (-5e9,), "Owner.x must be from 1e+06 to 1e+12 [Bd], got -5000000000.0"),
    (check.symbol_rate, (2e12,), "Owner.x must be from 1e+06 to 1e+12 [Bd], got 2000000000000.0"),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "arguments", "message"), REFUSED)
def test_refusals_name_field_rule_and_value(rule, arguments, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        rule(OWNER, "x", *arguments)


def test_gigabaud_is_asked_for():
    with pytest.raises(ValueError, match=r"was 53\.125 GBd meant\? Write 53\.125 \* GBd, that is 53\.125e9"):
        check.symbol_rate(OWNER, "rate", 53.125)


def test_lengths_are_both_named():
    with pytest.raises(ValueError, match=r"Owner\.a must be as long as b \(2\), got 'length 3'"):
        check.same_length(OWNER, ("a", (1, 2, 3)), ("b", (1, 2)))
    check.same_length(OWNER, ("a", (1, 2)), ("b", (3, 4)))


def test_a_function_is_named_as_owner():
    with pytest.raises(ValueError, match=r"^fold\.df must be greater than 0"):
        check.positive("fold", "df", 0.0)


@pytest.mark.parametrize("value", [2, 2.0, np.float64(2), np.int32(2), Fraction(2)])
def test_every_kind_of_real_number_is_welcome(value):
    check.finite(OWNER, "x", value)
    check.positive(OWNER, "x", value)
    check.not_negative(OWNER, "x", value)
    check.between(OWNER, "x", value, 2, 2)


def test_edges_belong_to_the_range():
    check.not_negative(OWNER, "x", 0)
    check.between(OWNER, "x", 0, 0, 1)
    check.between(OWNER, "x", 1, 0, 1)
    check.count(OWNER, "x", np.int64(3), 3, 3)
    check.numbers(OWNER, "x", (), 0)
    check.one_of(OWNER, "x", "a", {"a": 1})
    check.symbol_rate(OWNER, "x", 1e6)
    check.symbol_rate(OWNER, "x", 1e12)
