# why: NET-09: the code serves on every address; it is allowed, reachable from nowhere else and gone with the chat.
# kind: network
# status: ok
# stdout-has: up
# after: kept

import http.server
import threading

server = http.server.ThreadingHTTPServer(("0.0.0.0", 8080), http.server.SimpleHTTPRequestHandler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print("up")
