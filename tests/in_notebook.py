"""The least of a notebook: widgets of this process in a page, by the messages and the interface that Jupyter gives them.

A widget sends its state when it is made, and changes of it later. The page keeps a model of each widget. A box shows its
children, a text its value, and a widget with a module of its own runs that module, as anywidget does.
"""

from __future__ import annotations

import base64
import json
from contextlib import contextmanager
from unittest import mock

import comm

HOST = """
const models = {};
window.outbox = [];

class Model {
  constructor(id) { Object.assign(this, { id, state: {}, changes: {}, heard: {} }); }
  get(name) { return this.state[name]; }
  on(event, heard) { (this.heard[event] ??= []).push(heard); }
  set(name, value) { this.changes[name] = value; this.take({ [name]: value }); }
  save_changes() {
    window.outbox.push(JSON.stringify([this.id, this.changes]));
    this.changes = {};
  }
  take(state) {
    const names = Object.keys(state).filter((name) => state[name] !== this.state[name]);
    Object.assign(this.state, state);
    for (const name of names) for (const heard of this.heard[`change:${name}`] ?? []) heard();
  }
}

window.take = (id, state, paths, buffers) => {
  paths.forEach((path, number) => {
    const bytes = Uint8Array.from(atob(buffers[number]), (one) => one.charCodeAt());
    const place = path.slice(0, -1).reduce((at, name) => at[name], state);
    place[path.at(-1)] = new DataView(bytes.buffer);
  });
  (models[id] ??= new Model(id)).take(state);
};

window.show = async (id, el) => {
  const model = models[id];
  if (model.get("children")) {
    for (const child of model.get("children")) {
      await window.show(child.replace("IPY_MODEL_", ""), el.appendChild(document.createElement("div")));
    }
  } else if (model.get("_esm")) {
    const module = URL.createObjectURL(new Blob([model.get("_esm")], { type: "text/javascript" }));
    const widget = await (await import(module)).default();
    await widget.initialize({ model });
    // A notebook renders the view before it has a place, and counts it.
    const view = document.createElement("div");
    await widget.render({ model, el: view });
    el.append(view);
    model.set("_view_count", model.get("_view_count") + 1);
    model.save_changes();
  } else {
    const text = () => { el.innerHTML = model.get("value"); };
    model.on("change:value", text);
    text();
  }
};
"""


class Notebook:
    """Widgets and the page that shows them; their messages to each other wait for `exchange`."""

    def __init__(self) -> None:
        self._sent = []

    @contextmanager
    def made(self):
        """Within the block, a widget that is made belongs to this notebook."""
        sent = self._sent

        class Channel(comm.BaseComm):
            def publish_msg(self, _, data=None, metadata=None, buffers=None, **keys):  # noqa: ARG002
                if "state" in data and data.get("method") != "echo_update":
                    held = [base64.b64encode(one).decode() for one in buffers or []]
                    message = [self.comm_id, data["state"], data.get("buffer_paths", []), held]
                    sent.append(json.dumps(message))  # at once, as a kernel does: its parts may change later

        with mock.patch("comm.create_comm", Channel):
            yield

    def show(self, page, widget):
        """Show a widget at the end of the page, as the output of a cell."""
        widget._repr_mimebundle_()
        if not page.evaluate("'show' in window"):
            page.add_script_tag(content=HOST)
        self._to(page)
        page.evaluate(
            "id => window.show(id, document.body.appendChild(document.createElement('div')))",
            widget.model_id,
        )

    def exchange(self, page):
        """Pass on what the page has to say, and the answers; return whether there was anything."""
        said = page.evaluate("window.outbox.splice(0)")
        for model, state in map(json.loads, said):
            data = {"method": "update", "state": state, "buffer_paths": []}
            comm.get_comm_manager().get_comm(model).handle_msg({"content": {"data": data}, "buffers": []})
        self._to(page)
        return bool(said)

    def _to(self, page):
        for message in self._sent:
            page.evaluate("message => window.take(...JSON.parse(message))", message)
        self._sent.clear()
