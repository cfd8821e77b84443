"""A model whose answers a test writes: an OpenAI-compatible server on loopback.

Real LiteLLM talks to it over HTTP, so that what is tested is what runs. Answers are given in order;
an answer may be a text, a status, a whole message, or silence until the client has gone.
"""

import json
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Answer:
    """One answer of the server."""

    text: str | None = ""
    status: int = 200
    finish: str = "stop"
    message: dict[str, Any] | None = None  # in place of a plain text
    tokens: tuple[int, int] | None = (100, 20)
    cached: int = 0
    headers: tuple[tuple[str, str], ...] = ()
    body: str | None = None  # in place of a well-formed answer
    silent: bool = False


Reply = Answer | str | Callable[[dict[str, Any]], "Answer | str"]


@dataclass
class ScriptedModel:
    """What was asked, and what comes next. The last reply is given again and again."""

    address: str
    replies: list[Reply] = field(default_factory=list)
    asked: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    quiet: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def script(self, *replies: Reply) -> None:
        """Answer with these from now on, and forget what was asked."""
        with self._lock:
            self.replies = list(replies)
            self.asked = []
            self.keys = []

    def take(self, question: dict[str, Any], key: str) -> Answer:
        with self._lock:
            self.asked.append(question)
            self.keys.append(key)
            reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        answer = reply(question) if callable(reply) else reply
        return Answer(answer) if isinstance(answer, str) else answer

    @property
    def prompts(self) -> list[str]:
        """Everything that was sent, as one text for each question."""
        return [json.dumps(one["messages"], ensure_ascii=False) for one in self.asked]


def told(question: dict[str, Any]) -> str:
    """What the user's message of a question says."""
    return str(question["messages"][-1]["content"])


@contextmanager
def scripted_model(replies: Iterable[Reply] = ("{}",)) -> Iterator[ScriptedModel]:
    """The server, for as long as the block lasts."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers.get("content-length", 0))
            question = json.loads(self.rfile.read(length))
            answer = model.take(question, self.headers.get("authorization", ""))
            if answer.silent:
                model.quiet.wait(30)
                return
            body = answer.body if answer.body is not None else json.dumps(_body(question, answer))
            data = body.encode("utf-8", "surrogatepass")
            self.send_response(answer.status)
            for name, value in (("content-type", "application/json"), *answer.headers):
                self.send_header(name, value)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    model = ScriptedModel(f"http://127.0.0.1:{server.server_address[1]}/v1", list(replies))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield model
    finally:
        model.quiet.set()
        server.shutdown()
        thread.join()
        server.server_close()


def _body(question: dict[str, Any], answer: Answer) -> dict[str, Any]:
    if answer.status != 200:
        return {"error": {"message": answer.text, "type": "scripted", "code": None}}
    message = answer.message or {"role": "assistant", "content": answer.text}
    body: dict[str, Any] = {
        "id": "scripted",
        "object": "chat.completion",
        "created": 1,
        "model": question["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": answer.finish}],
    }
    if answer.tokens is not None:
        into, out = answer.tokens
        body["usage"] = {
            "prompt_tokens": into,
            "completion_tokens": out,
            "total_tokens": into + out,
            "prompt_tokens_details": {"cached_tokens": answer.cached},
        }
    return body
