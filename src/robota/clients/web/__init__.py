"""The web page: events become data that a browser can show as it is. May use protocol, text and clients.view."""
