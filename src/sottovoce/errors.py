"""Every error that Sottovoce raises on purpose.

::

    SottovoceError
    ├── ParameterError (ValueError)    an argument of a mechanism or call is not allowed
    ├── AnswerError (ValueError)       an answer outside the public domain, or missing
    ├── WireError (ValueError)         bytes or a file that are not what they claim to be
    │   └── DigestError                well formed, but made under another study or mechanism
    ├── ShareError (ValueError)        secret shares that are missing, malformed or contradictory
    ├── MergeError (ValueError)        aggregates that do not belong together, or would overflow
    ├── StudyError (ValueError)        a study file that cannot be a contract
    ├── EstimateError (ValueError)     there is nothing to estimate from
    ├── GuaranteeError (ValueError)    a promise that cannot be kept, so it is not made
    │   └── SeededError                reproducible randomness outside `sottovoce.testing`
    ├── FileError (OSError)            a file that cannot be read or written whole
    ├── TransportError (OSError)       another party cannot be reached, or refuses or is too late
    └── MissingExtraError (ImportError)  an optional package is needed

A message says what was given, what is allowed and what to do. There are also three warnings:
`UselessEstimateWarning`, for estimates that carry no information because too few people reported,
`AlikeWarning`, for weighted estimates that assume that groups of people are alike, and
`SkippedWarning`, for files that were left out of a count.
"""

from __future__ import annotations

from os import PathLike, fspath


class SottovoceError(Exception):
    """Base of every error raised on purpose."""


class ParameterError(SottovoceError, ValueError):
    """A parameter is not allowed."""


class AnswerError(SottovoceError, ValueError):
    """An answer is outside the public domain, or missing where missing is not a value."""


class WireError(SottovoceError, ValueError):
    """Bytes or a file are malformed: wrong version, range, length or layout."""


class DigestError(WireError):
    """Well-formed reports or counts that belong to another study or mechanism."""


class ShareError(SottovoceError, ValueError):
    """Secret shares are missing, malformed, or do not fit together."""


class MergeError(SottovoceError, ValueError):
    """Aggregates cannot be added."""


class StudyError(SottovoceError, ValueError):
    """A study is malformed."""


class EstimateError(SottovoceError, ValueError):
    """An estimate cannot be made from what was given."""


class GuaranteeError(SottovoceError, ValueError):
    """A promise cannot be made; the message says why."""


class SeededError(GuaranteeError):
    """Reports drawn from a seed were used outside `sottovoce.testing`."""


class FileError(SottovoceError, OSError):
    """A file cannot be read or written."""

    @classmethod
    def of(cls, what: str, path: str | PathLike[str], error: Exception, end: str = "") -> FileError:
        """Say what failed with which file, and why, in the words of the system."""
        reason = getattr(error, "strerror", None) or error
        return cls(f"{what} {fspath(path)!r}: {reason}{end}")


class TransportError(SottovoceError, OSError):
    """Another party cannot be reached, refuses, or did not answer in time."""


class UselessEstimateWarning(UserWarning):
    """Intervals are wider than the whole range of possible values; the message says what helps."""


class AlikeWarning(UserWarning):
    """A weighted estimate is right only if all groups of people answer alike."""


class SkippedWarning(UserWarning):
    """Files that cannot be read were left out of a count; the message lists them."""


class MissingExtraError(SottovoceError, ImportError):
    """An optional package is not installed."""

    @classmethod
    def of(cls, package: str, extra: str, purpose: str) -> MissingExtraError:
        """Say which package is missing, what for, and how to install it."""
        return cls(
            f"{purpose} needs the package {package!r}, which is not installed; "
            f"install it with: pip install 'sottovoce[{extra}]'"
        )
