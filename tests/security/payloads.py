"""Text that tries to be markup, script, an attribute, a request of htmx's, or a template. Each names itself `zq9`."""

from __future__ import annotations

MARK = "zq9"

PAYLOADS = (
    "<script>alert('zq9')</script>",
    "</script><script>alert('zq9')</script>",
    "<img src=x onerror=alert('zq9')>",
    "\"><img src=x onerror=alert('zq9')>",
    "'><img src=x onerror=alert('zq9')>",
    "<svg/onload=alert('zq9')>",
    "<svg><animate onbegin=alert('zq9') attributeName=x dur=1s>",
    '" onmouseover="alert(\'zq9\')" x="',
    "' onfocus='alert(\"zq9\")' autofocus='",
    "\" autofocus onfocus=alert('zq9') \"",
    "javascript:alert('zq9')",
    "JaVaScRiPt:alert`zq9`",
    "data:text/html,<script>alert('zq9')</script>",
    "<iframe srcdoc=\"<script>alert('zq9')</script>\">",
    "<object data=\"javascript:alert('zq9')\">",
    "<embed src=//zq9.example>",
    "<base href=//zq9.example/>",
    "<meta http-equiv=refresh content='0;url=//zq9.example'>",
    "<link rel=stylesheet href=//zq9.example>",
    "<form action=//zq9.example><input name=zq9>",
    "<a href=\"javascript:alert('zq9')\">zq9</a>",
    "<details open ontoggle=alert('zq9')>",
    "<style>*{background:url(//zq9.example)}</style>",
    "<!--zq9--><b>",
    "-->zq9<script>alert('zq9')</script>",
    "]]>zq9<script>alert('zq9')</script>",
    "</textarea><script>alert('zq9')</script>",
    "</title><script>alert('zq9')</script>",
    "</option></select><script>alert('zq9')</script>",
    "<template><script>alert('zq9')</script></template>",
    "<math><mtext></form><form><mglyph><style></math><img src onerror=alert('zq9')>",
    "<div hx-get=/zq9 hx-trigger=load>zq9</div>",
    '" hx-get="/zq9" hx-trigger="load" x="',
    "' data-hx-post='/zq9' data-hx-trigger='load' x='",
    "<div hx-on:load=alert('zq9')>",
    "\"}' hx-vals='js:{zq9:alert(1)}",
    "zq9{{7*7}}",
    "zq9{% load x %}{% debug %}",
    "zq9${7*7}<%= 7*7 %>#{7*7}",
    "&lt;script&gt;alert('zq9')&lt;/script&gt;",
    "%3Cscript%3Ealert('zq9')%3C/script%3E",
    "zq9\\\"\\'\\u003cscript\\u003ealert(1)\\u003c/script\\u003e",
)
ALL = " ".join(PAYLOADS)


def some(place: int, longest: int) -> str:
    """Payloads from this place of the list on, as many as there is room for."""
    text = ""
    for each in (*PAYLOADS[place % len(PAYLOADS) :], *PAYLOADS[: place % len(PAYLOADS)]):
        if len(text) + len(each) + 1 > longest:
            break
        text += " " + each
    return text.strip()
