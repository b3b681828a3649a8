"""The MCP server: kedge's commands as tools, for any client that speaks the protocol.

`protocol` decides and touches nothing, `tools` lists what there is, and `stdio` reads, writes and
runs the commands.
"""
