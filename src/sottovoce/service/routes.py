"""Every route and who may use it: the one table that the server, its tests and OpenAPI read."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from .access import COOKIE
from .problems import ALL, JSON, PROBLEM


class Who(Enum):
    """Who may use a route."""

    ANYONE = "anyone"
    PARTICIPANT = "anyone, or whoever has an unused invitation code where the study has codes"
    ANALYST = "whoever has an analyst's token or link"


class Token(Enum):
    """What may come with a request."""

    NONE = "no token"
    WRONG = "a wrong one"
    EXPIRED = "an expired one"
    OTHER = "another study's"
    PARTICIPANT = "a participant's code"
    ANALYST = "an analyst's"


@dataclass(frozen=True)
class Entry:
    """A route, and what the OpenAPI document says of it."""

    method: str
    path: str  # with parameters in braces
    who: Who
    handler: str  # the method of `App` that answers; empty for reports, which have their own
    summary: str
    kind: str = JSON  # content type of the answer
    query: tuple[str, ...] = ()  # names of parameters

    def answers(self, token: Token) -> bool:
        """Whether a request with such a token is answered; otherwise it looks unknown."""
        return self.who is not Who.ANALYST or token is Token.ANALYST


REPORTS = "/api/v1/reports"
_HTML = "text/html"
_BYTES = "application/octet-stream"
ROUTES = (
    Entry("GET", "/", Who.ANYONE, "participant", "The participant's page", _HTML),
    Entry("GET", "/offline", Who.ANYONE, "offline", "The page as one file", _HTML),
    Entry("GET", "/static/{digest}/{name}", Who.ANYONE, "static", "A file of the pages", _BYTES),
    Entry("GET", "/health", Who.ANYONE, "health", "Whether reports can be stored"),
    Entry("GET", "/api/v1/openapi.json", Who.ANYONE, "openapi", "This document"),
    Entry("GET", "/api/v1/study", Who.ANYONE, "study", "What is asked and promised"),
    Entry("POST", REPORTS, Who.PARTICIPANT, "", "Send reports"),
    Entry("GET", "/api/v1/aggregate", Who.ANALYST, "aggregate", "Counts (.sva)", _BYTES,
          ("question",)),
    Entry("GET", "/api/v1/export", Who.ANALYST, "export",
          "Reports (.svr) of a question with too many values to count", _BYTES, ("question",)),
    Entry("GET", "/api/v1/estimate", Who.ANALYST, "estimate", "Fractions with intervals", JSON,
          ("question", "attribute", "confidence", "values")),
    Entry("GET", "/metrics", Who.ANALYST, "metrics", "Figures for operation", "text/plain"),
    Entry("GET", "/results", Who.ANALYST, "results", "The analyst's page", _HTML,
          ("key", "pair", "question", "values")),
    Entry("GET", "/results/{number}/{kind}", Who.ANALYST, "download",
          "A question's counts, table or picture", _BYTES, ("attribute", "values")),
)  # fmt: skip


def openapi(version: str, title: str) -> dict[str, Any]:
    """The OpenAPI 3.1 document."""
    paths: dict[str, dict[str, Any]] = {}
    for entry in ROUTES:
        names = [part[1:-1] for part in entry.path.split("/") if part.startswith("{")]
        parameters = [
            {"name": name, "in": where, "required": where == "path", "schema": {"type": "string"}}
            for where, some in (("path", names), ("query", entry.query))
            for name in some
        ]
        operation: dict[str, Any] = {
            "summary": entry.summary,
            "description": f"For {entry.who.value}.",
            "responses": {
                "200": {"description": "Done", "content": {entry.kind: {}}},
                "default": {"description": "Refused", "content": {PROBLEM: {}}},
            },
        }
        if parameters:
            operation["parameters"] = parameters
        if entry.who is Who.ANALYST:
            operation["security"] = [{"token": []}, {"cookie": []}]
        if entry.path == REPORTS:
            operation["parameters"] = [
                {"name": "Sottovoce-Code", "in": "header", "schema": {"type": "string"}}
            ]
            content = {_BYTES: {"schema": {"type": "string", "format": "binary"}}}
            operation["requestBody"] = {"required": True, "content": content}
            operation["responses"]["200"]["content"][JSON] = {"schema": _RECEIPT}
            for name in ("code", "slow", "conflict", "closed", "large", "type", "invalid", "rate",
                         "busy"):  # fmt: skip
                problem = ALL[name]
                operation["responses"][str(problem.status)] = {
                    "description": problem.title,
                    "content": {PROBLEM: {}},
                }
        paths.setdefault(entry.path, {})[entry.method.lower()] = operation
    schemes = {
        "token": {"type": "http", "scheme": "bearer"},
        "cookie": {"type": "apiKey", "in": "cookie", "name": COOKIE},
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": title, "version": version},
        "paths": paths,
        "components": {"securitySchemes": schemes},
    }


_RECEIPT = {
    "type": "object",
    "required": ["accepted", "refused", "receipt"],
    "properties": {
        "accepted": {"type": "integer"},
        "receipt": {"type": "string"},
        "refused": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "question": {"type": "string"},
                    "position": {"type": "integer"},
                    "reason": {"type": "string"},
                },
            },
        },
    },
}
