"""The small pieces every page is made of: icons, pills, reasons, devices, times and sizes."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import cache
from typing import Any

from django import template
from django.templatetags.static import static
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from scheduler.core.explain import size as size_in_words
from workers.devices import DeviceBox
from workers.devices import ranges as in_ranges
from workers.moments import clock, duration, minute

register = template.Library()

THEMES = ("light", "dark")

# What is said with a pill: its tone and its icon. Tone, shape and word always go together.
PILLS: Mapping[str, tuple[str, str]] = {
    "ok": ("ok", "circle-check"),
    "run": ("run", "player-play"),
    "held": ("run", "lock"),
    "wait": ("wait", "clock"),
    "never": ("never", "ban"),
    "rsv": ("rsv", "bookmark"),
    "planned": ("none", "calendar-event"),
    "none": ("none", "minus"),
    "failed": ("never", "circle-x"),
    "timed_out": ("never", "hourglass"),
    "stopping": ("wait", "player-stop"),
    "stopped": ("none", "player-stop"),
    "contact": ("wait", "plug-connected-x"),
    "offline": ("never", "plug-connected-x"),
    "unknown": ("never", "help-circle"),
    "draining": ("wait", "droplet"),
    "unhealthy": ("never", "alert-triangle"),
    "free": ("ok", "circle"),
}

WHY_ICONS: Mapping[str, str] = {
    "never": "ban",
    "wait": "clock",
    "rsv": "bookmark",
    "none": "minus",
    "ok": "check",
    "run": "player-play",
}

TIER_ICONS: Mapping[str, str] = {"local": "home", "remote": "world", "cloud": "cloud"}


@register.simple_tag
def once() -> str:
    """A name of its own for every form drawn: what is sent twice with it is done once."""
    return secrets.token_urlsafe(16)


@cache
def _sprite() -> str:
    """A file of its own: every page needs it, and none has to carry it."""
    return static("icons.svg")


@register.simple_tag
def icon(name: str, css: str = "") -> SafeString:
    """One outline icon of the sprite, for eyes only: the word stands beside it."""
    return format_html('<svg class="i {}" aria-hidden="true"><use href="{}#{}"/></svg>', css, _sprite(), name)


@register.simple_tag
def tier(name: str) -> SafeString:
    """The icon of an origin."""
    return icon(TIER_ICONS.get(str(name), "server"))


@register.simple_tag
def pill(kind: str, text: str) -> SafeString:
    """A state: colour, icon and word. `kind` is a key of PILLS."""
    tone, name = PILLS[kind]
    return format_html('<span class="pill s-{}">{}{}</span>', tone, icon(name), text)


@register.simple_tag
def why(tone: str, text: str) -> SafeString:
    """One reason: square edge for never, round for not now."""
    return format_html('<span class="why s-{}">{}<span>{}</span></span>', tone, icon(WHY_ICONS[tone]), text)


@register.simple_tag
def devices(boxes: Iterable[DeviceBox]) -> SafeString:
    """A worker's devices as numbered boxes; shape and colour say the state, the label says it in words."""
    drawn = tuple(boxes)
    if not drawn:
        return format_html('<span class="muted">{}</span>', "none")
    label = "Devices: " + "; ".join(f"{box.index} {box.words}" for box in drawn)
    spans = format_html_join("", '<span class="d d-{}">{}</span>', ((box.look, box.index) for box in drawn))
    many = " many" if len(drawn) > 8 else ""
    return format_html('<span class="devs{}" role="img" aria-label="{}">{}</span>', many, label, spans)


@register.simple_tag
def bar(part: int, whole: int) -> SafeString:
    """A share of a whole as a bar; what is not nothing is always seen."""
    share = max(100 * part / whole, 0.45) if part and whole else 0
    return format_html(
        '<svg class="fb" aria-hidden="true" preserveAspectRatio="none">'
        '<rect class="keep" width="{}%" height="100%" rx="1"/></svg>',
        f"{share:.2f}",
    )


@register.simple_tag
def share(part: int, whole: int) -> SafeString:
    """The thin line under a facet: how many of the largest."""
    width = f"{100 * part / whole:.1f}" if whole else "0"
    return format_html('<svg aria-hidden="true"><rect width="{}%" height="3"/></svg>', width)


@register.simple_tag
def meter(percent: int) -> SafeString:
    """How busy, as a bar."""
    return format_html(
        '<svg class="meter" aria-hidden="true"><rect class="t" width="100%" height="100%"/>'
        '<rect class="m" width="{}%" height="100%"/></svg>',
        percent,
    )


@register.simple_tag
def unknown(why: str = "") -> SafeString:
    """The mark of a value that nobody reported, and the reason where it has one."""
    mark = format_html('<span class="unk">{}</span>', "? unknown")
    return format_html('{} <span class="muted">({})</span>', mark, why) if why else mark


@register.simple_tag(takes_context=True)
def theme(context: Mapping[str, Any]) -> SafeString:
    """What this browser chose in the profile: light or dark, no single keys; nothing where the system decides."""
    request = context.get("request")
    cookies = request.COOKIES if request is not None else {}
    chosen = cookies.get("theme", "")
    forced = format_html(' data-theme="{}"', chosen) if chosen in THEMES else SafeString("")
    return forced + (SafeString(' data-keys="off"') if cookies.get("keys") == "off" else SafeString(""))


@register.simple_tag
def moment(at: datetime | None) -> SafeString | str:
    """Clock time for today, date and time otherwise, with the whole instant behind it."""
    if at is None:
        return "–"
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        at.isoformat(),
        timezone.localtime(at).strftime("%Y-%m-%d %H:%M:%S %Z"),
        clock(at, now=timezone.now()),
    )


@register.simple_tag
def until(at: datetime) -> SafeString:
    """An instant that somebody plans by: to the minute, with the date where it is not today."""
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        at.isoformat(),
        timezone.localtime(at).strftime("%Y-%m-%d %H:%M:%S %Z"),
        minute(at, now=timezone.now()),
    )


@register.simple_tag
def span(start: datetime | None, end: datetime | None = None) -> str:
    """How long it took; or, without an end, how long it has been taking, rounded so that it seldom changes."""
    if start is None:
        return ""
    seconds = ((end or timezone.now()) - start).total_seconds()
    return duration(seconds) if end else duration(seconds, coarse=True)


@register.filter
def size(value: int | None) -> str:
    """Bytes in decimal units."""
    return "" if value is None else size_in_words(value)


@register.filter
def ranges(indices: Iterable[int]) -> str:
    """Indices in few letters."""
    return in_ranges(indices)


@register.filter
def count(value: int | None) -> str:
    """A number with thousands separators."""
    return "" if value is None else f"{value:,}"


@register.inclusion_tag("_partials/_legend.html")
def legend() -> dict[str, object]:
    """What the device boxes mean."""
    return {}


@register.inclusion_tag("_partials/_cmd.html")
def cmd(text: str) -> dict[str, str]:
    """A command to copy."""
    return {"text": text}


@register.simple_tag
def linked(text: str, worker: str) -> SafeString | str:
    """A sentence in which the worker's name leads to its page."""
    before, name, after = text.partition(worker) if worker else (text, "", "")
    if not name:
        return text
    return format_html('{}<a href="{}">{}</a>{}', before, reverse("worker", args=[name]), name, after)


@register.simple_tag
def coded(text: str) -> SafeString:
    """A text in which what stands between backticks is code."""
    pieces = enumerate(text.split("`"))
    return format_html_join(
        "", "{}", ((format_html("<code>{}</code>", piece) if at % 2 else piece,) for at, piece in pieces)
    )


@register.simple_tag
def simulated() -> SafeString:
    """The mark of what is not real."""
    return format_html(
        '<span class="lbl sim" title="{}">{}</span>', "Not a real machine; its tasks only sleep", "simulated"
    )


@register.inclusion_tag("_partials/_pager.html")
def pager(page: object, what: str, *, base: str, extra: str = "", target: str = "#rows") -> dict[str, object]:
    """Previous and next of a keyset page, and where one is. The page has `previous` and `next` as query strings."""
    return {"page": page, "what": what, "base": base, "extra": extra, "target": target}
