"""The model proxy of `kedge serve`: relays everything, and judges tool calls before they run.

In reading order:

    exchange          what the pure part and the relay say to each other: events and commands
    sse, json_scan    bytes in, events and positions out; nothing is serialised again
    holding           hold a call, have it judged, release or replace it: one step for all APIs
    messages          answers of the Anthropic Messages API
    responses         answers of OpenAI's Responses API
    observers         answers of Chat Completions and Gemini, which are only observed
    refusals          what a refused call is replaced by
    tap               an answer from its bytes to commands, without losing a byte to a fault
    requests          the conversation in a request of each API
    conversation      what is new in it: the user's words, results of calls
    splice            where a correction goes into a request
    routes            which provider, API and session a request is for
    headers, decoding, upstreams   what is forwarded, read and trusted
    recording         the watch behind it: the engine and the store of the hooks
    judging           when the watch is asked, and for how long; when sessions without hooks end
    relay, answers    the sockets: requests on their way there, answers on their way back
    hooks             events of hooks that come over HTTP
    service, child    the process of `kedge serve`; the environment of `kedge exec`
    unit              the unit of systemd or launchd that keeps it running

Everything above `recording` is free of I/O: functions of values, tested without sockets.
"""
