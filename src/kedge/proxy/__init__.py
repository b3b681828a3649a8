"""The model proxy of `kedge serve`: relays everything, and judges tool calls before they run.

In reading order:

    exchange          what a stream asks of the relay, and what it is told: events and commands
    sse, json_scan    bytes in, events and positions out; nothing is serialised again
    messages          answers of the Anthropic Messages API: hold, judge, release or replace
    responses         the same for OpenAI's Responses API
    chat, gemini      answers that are only observed
    refusals          what a refused call is replaced by
    conversation      what a request says: session, user's words, results of calls
    splice            where a correction goes into a request
    routes            which provider, API and session a request is for
    judging           the watch behind it, in threads
    relay             the sockets
    service, child    the process of `kedge serve`; the environment of `kedge exec`

Everything above `judging` is free of I/O: functions of values, tested as playbooks.
"""
