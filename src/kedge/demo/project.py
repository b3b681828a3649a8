"""The project of the demo: berths in a harbour, what they cost, and who has booked them.

`HISTORY` is its git history. `acceptance/` holds what the user wants next: one test for each of the
demo's tasks. All of them fail before the agent begins.
"""

from __future__ import annotations

from typing import NamedTuple

NAME = "berths"

FEES = '''\
"""What a berth costs."""

import json
from pathlib import Path

TARIFF = Path(__file__).parent.parent / "data" / "tariff.json"


def fee(metres, nights):
    """Return the price of a berth in cents."""
    tariff = json.loads(TARIFF.read_text())
    cents = tariff["cents_per_metre"] * metres * nights
    return max(cents, tariff["least_cents"])
'''

INVOICE = '''\
"""Invoices as text."""

from berths.fees import fee


def invoice(boat, metres, nights):
    cents = fee(metres, nights)
    return f"{boat}: {nights} nights, {cents / 100:.2f} EUR"
'''

BOOKINGS = '''\
"""Who has which berth, from the day of arrival to the day of departure."""


class Taken(Exception):
    """Somebody else has the berth on one of these days."""


def book(bookings, berth, arrival, departure):
    """Add a booking. Days are numbers."""
    bookings.append((berth, arrival, departure))
'''

EXPORT = '''\
"""The harbour master's list of boats, as text."""


def read_boats(text):
    """Return the boats in the list: name and length in metres."""
    raise NotImplementedError
'''

TEST_FEES = """\
import unittest

from berths.fees import fee
from berths.invoice import invoice


class FeeTest(unittest.TestCase):
    def test_two_nights(self):
        self.assertEqual(fee(10, 2), 5000)

    def test_smallest_fee(self):
        self.assertEqual(fee(2, 1), 1000)

    def test_invoice(self):
        self.assertEqual(invoice("Ida", 10, 2), "Ida: 2 nights, 50.00 EUR")
"""

TEST_BOOKINGS = """\
import unittest

from berths.bookings import book


class BookingTest(unittest.TestCase):
    def test_two_berths(self):
        bookings = []
        book(bookings, "A1", 3, 5)
        book(bookings, "A2", 4, 6)
        self.assertEqual(len(bookings), 2)
"""

ACCEPT_DISCOUNT = """\
import unittest

from berths.fees import fee


class DiscountTest(unittest.TestCase):
    def test_a_week_costs_a_tenth_less(self):
        self.assertEqual(fee(10, 6), 15000)
        self.assertEqual(fee(10, 7), 15750)
"""

ACCEPT_BOATS = """\
import unittest

from berths.export import read_boats


class BoatsTest(unittest.TestCase):
    def test_a_name_may_contain_a_semicolon(self):
        text = "name;metres\\nIda;7\\n\\"Ahoy; Anna\\";12\\n"
        self.assertEqual(read_boats(text), [("Ida", 7), ("Ahoy; Anna", 12)])
"""

ACCEPT_OVERLAP = """\
import unittest

from berths.bookings import Taken, book


class OverlapTest(unittest.TestCase):
    def test_a_berth_is_given_once(self):
        bookings = [("A1", 3, 6)]
        self.assertRaises(Taken, book, bookings, "A1", 5, 8)

    def test_a_boat_may_come_when_another_leaves(self):
        bookings = [("A1", 3, 6)]
        book(bookings, "A1", 6, 8)
        self.assertEqual(len(bookings), 2)
"""

README = """\
# Berths

Books berths in a harbour and says what they cost. Prices are in `data/tariff.json`, which the
harbour office changes by itself.

    ./check             # run the tests
    ./check discount    # and the acceptance test of a task
"""

CHECK = """\
#!/bin/sh
python3 -m unittest --quiet && { test -z "$1" || python3 -m unittest --quiet "acceptance.$1"; }
"""
TARIFF = '{"cents_per_metre": 250, "least_cents": 1000}\n'


class Commit(NamedTuple):
    subject: str
    files: dict[str, str]


HISTORY = (
    Commit(
        "Charge boats by their length",
        {
            ".gitignore": "__pycache__/\n",
            "README.md": README,
            "check": CHECK,
            "berths/__init__.py": "",
            "berths/fees.py": FEES,
            "data/tariff.json": TARIFF,
            "berths/invoice.py": INVOICE,
            "tests/__init__.py": "",
            "tests/test_fees.py": TEST_FEES,
        },
    ),
    Commit(
        "Book berths by the day",
        {"berths/bookings.py": BOOKINGS, "tests/test_bookings.py": TEST_BOOKINGS},
    ),
    Commit(
        "Say what is wanted next, as tests",
        {
            "acceptance/__init__.py": "",
            "acceptance/discount.py": ACCEPT_DISCOUNT,
            "acceptance/boats.py": ACCEPT_BOATS,
            "acceptance/overlap.py": ACCEPT_OVERLAP,
            "berths/export.py": EXPORT,
        },
    ),
)
