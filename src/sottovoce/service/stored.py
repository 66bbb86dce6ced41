"""The reports of a store, compared with what was recorded when they came."""

from __future__ import annotations

from collections.abc import Iterator

from ..contract.reports import Reports
from ..errors import SottovoceError
from ..study import Study
from .stores import Blob, Store


def stored_reports(store: Store, study: Study) -> Iterator[tuple[Blob, Reports]]:
    """Every blob with its reports; raises StoreError for a damaged one, inside a transaction."""
    for blob in store.blobs():
        try:
            collection = study.collection(blob.question)
            reports = Reports.from_bytes(blob.data, expect=collection)
        except SottovoceError as error:
            raise store.damaged(f"of some reports of {blob.question!r}, {error}") from error
        people, sent = (int(n.sum()) for n in collection.headcount(reports))
        if (people, sent) != (blob.people, blob.reports):
            raise store.damaged(
                f"{sent:,} reports of {people:,} people were counted of {blob.question!r}, and "
                f"{blob.reports:,} of {blob.people:,} recorded"
            )
        yield blob, reports
