"""A collection over HTTP: participants send reports, an analyst watches the estimate.

::

    submission    bytes that arrive → valid reports, and the positions of the others
    stores/       what is kept, in SQLite or PostgreSQL; nothing about senders
    collector     group commits, and the counts of what is committed
    app, ingest   the routes, in one table with who may use them
    server        uvicorn with limits on time, size, connections and rate
    results       the analyst's page

Nothing here knows who sent a report: a store never sees an address, a time finer than an hour or
the order of arrival, and nothing is logged per request.
"""
