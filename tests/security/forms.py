"""The forms of a page, as a browser would send them; and what a page is made of, as a browser would read it."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import urljoin

Attributes = list[tuple[str, str | None]]


@dataclass
class Form:
    """One form: where it goes, how, and with what."""

    action: str
    method: str
    fields: dict[str, str] = field(default_factory=dict)

    def at(self, page: str) -> str:
        """Its address on this page."""
        return urljoin(page, self.action or page)


class Reading(HTMLParser):
    """Reads a page: its forms, its elements with their attributes, its text."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.forms: list[Form] = []
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.text = ""
        self._open: Form | None = None
        self._by_id: dict[str, Form] = {}
        self._area = self._select = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: Attributes) -> None:
        given = {name: value or "" for name, value in attrs}
        self.elements.append((tag, given))
        if tag == "form":
            self._open = Form(given.get("action", ""), given.get("method", "get").lower())
            self.forms.append(self._open)
            self._by_id[given.get("id", "")] = self._open
        elif tag in ("input", "select", "textarea", "button"):
            self._field(tag, given)
        elif tag == "option" and self._select and ("selected" in given):
            self._put(self._select, given.get("value", ""))

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._open = None
        elif tag == "textarea":
            self._area = ""
        elif tag == "select":
            self._select = ""

    def handle_data(self, data: str) -> None:
        self.text += data
        if self._area and self._open is not None:
            self._open.fields[self._area] = data

    def _field(self, tag: str, given: dict[str, str]) -> None:
        name, kind = given.get("name", ""), given.get("type", "")
        form = self._by_id.get(given["form"]) if "form" in given else self._open
        if not name or form is None or kind == "file":
            return
        if kind in ("checkbox", "radio") and "checked" not in given:
            form.fields.setdefault(name, "")
            return
        form.fields[name] = given.get("value", "")
        if tag == "textarea":
            self._area = name
        elif tag == "select":
            self._select = name

    def _put(self, name: str, value: str) -> None:
        if self._open is not None:
            self._open.fields[name] = value


def posted(html: str) -> list[Form]:
    """The page's forms that are sent by POST."""
    return [form for form in Reading(html).forms if form.method == "post"]
