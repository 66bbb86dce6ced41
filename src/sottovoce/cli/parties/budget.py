"""``sottovoce parties budget``: what a party's data sets have spent, on what, and what is left."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...checks import printable
from ..support.command import heading, plural, show_table, table_of
from ..support.options import PATH, json_output

if TYPE_CHECKING:
    from rich.console import Console

    from ...parties.budget import Account
    from ..support.command import Output

_DIGITS = 16  # of digests on the screen; --json has all


@click.command()
@click.option(
    "--ledger",
    "ledger_path",
    type=PATH,
    metavar="FILE",
    help="The budget ledger; by default that of this user.",
)
@click.option("--dataset", metavar="NAME", help="Only this data set.")
@click.option(
    "--total", metavar="E", help="Set the most that the data set may spend in all, such as 1.5."
)
@click.option(
    "--total-delta",
    metavar="D",
    help="Set the most delta that it may spend in all, such as 1e-6; 1e-9 by default.",
)
@json_output
def budget(
    ledger_path: Path | None,
    dataset: str | None,
    total: str | None,
    total_delta: str | None,
    output: Output,
) -> None:
    """Show what each data set has spent, on what, and what is left.

    A budget belongs to a data set and holds across all runs and studies. It is the budget in the
    first study that uses the data set, unless its owner sets another one with --total. Epsilon and
    delta of all runs add up, and a run that would exceed either limit is refused.

    \b
    Examples:
      sottovoce parties budget
      sottovoce parties budget --dataset clinic-2026 --total 1.5

    Next: sottovoce parties check study.toml --party B --data b.csv
    """  # noqa: D301
    from ...errors import ParameterError
    from ...parties.budget import Ledger, default_path
    from ...study.party_entries import exact_number

    ledger = Ledger(ledger_path or default_path())
    if total is not None or total_delta is not None:
        if dataset is None:
            raise click.UsageError("a total needs --dataset: a budget belongs to one data set")
        ledger.set_budget(
            dataset,
            None if total is None else exact_number(total, "--total"),
            delta=None if total_delta is None else exact_number(total_delta, "--total-delta"),
        )
    accounts = [one for one in ledger.accounts() if dataset in (None, one.data)]
    if dataset is not None and not accounts:
        raise ParameterError(
            f"the ledger {str(ledger.path)!r} has no data set {printable(dataset)!r}"
        )
    data_sets = [account.as_dict() for account in accounts]
    screen = output.begin({"ledger": str(ledger.path), "data_sets": data_sets})
    if screen is None:
        return
    if not accounts:
        screen.print(f"Nothing was spent yet; there is no entry in {ledger.path}.")
    for k, account in enumerate(accounts):
        screen.print("\n" * bool(k), end="")
        _show(screen, account)


def _show(screen: Console, account: Account) -> None:
    from ...parties.budget import shown

    screen.print(heading(account.data))
    screen.print(
        f"ε = {shown(account.spent)} of {shown(account.budget)} spent in "
        f"{plural(len(account.charges), 'run')}; {shown(account.left, down=True)} left"
    )
    screen.print(
        f"δ = {shown(account.delta_spent)} of {shown(account.delta_limit)} spent; "
        f"{shown(account.delta_left, down=True)} left"
    )
    if not account.charges:
        return
    titles = [("date", "left"), ("study", "left"), ("session", "left")]
    amounts = [("epsilon", "right"), ("delta", "right")]
    table = table_of(screen, [*titles, *amounts, ("receipt", "left")])
    for charge in account.charges:
        names = charge.study[:_DIGITS], charge.session[:_DIGITS]
        receipt = "signed" if charge.receipt else "none"
        table.add_row(charge.date, *names, shown(charge.epsilon), shown(charge.delta), receipt)
    show_table(screen, table)
