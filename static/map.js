/* map.js – the map of the overview: one tab stop per group; arrows move by place, the strip above names the worker; Enter, or the link in the strip, opens it */
(() => {
  const d = document, $ = (s, e = d) => e.querySelector(s), $$ = (s, e = d) => [...e.querySelectorAll(s)];
  let chosen = null;                        // its group's id and its name, to be found again when the map is drawn anew
  const pick = u => {
    const svg = u.ownerSVGElement, strip = $('#readout'), b = u.getBBox();
    let ring = $('#ring');
    if (!ring) { ring = d.createElementNS('http://www.w3.org/2000/svg', 'rect'); ring.id = 'ring'; ring.setAttribute('class', 'ring'); ring.setAttribute('role', 'presentation'); }
    for (const [k, v] of Object.entries({ x: b.x, y: b.y, width: b.width, height: b.height })) ring.setAttribute(k, v);
    svg.append(ring);
    $$('[aria-activedescendant]').forEach(x => x.removeAttribute('aria-activedescendant'));
    $$('[aria-selected=true]').forEach(x => { x.setAttribute('aria-selected', 'false'); x.removeAttribute('id'); });
    u.setAttribute('aria-selected', 'true'); u.id = 'chosen'; svg.setAttribute('aria-activedescendant', 'chosen');
    chosen = [svg.id, u.dataset.w];
    const a = $('a', strip); a.textContent = u.dataset.w; a.href = `/workers/${encodeURIComponent(u.dataset.w)}`; a.hidden = false;
    $('span', strip).textContent = u.getAttribute('aria-label').slice(u.dataset.w.length + 2);
  };
  const STEPS = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 'cols', ArrowUp: '-cols', Home: 'home', End: 'end' };
  d.addEventListener('keydown', e => {
    const svg = e.target.closest?.('svg[role=listbox]');
    if (!svg || e.ctrlKey || e.metaKey || e.altKey) return;
    const all = $$('use', svg), at = all.findIndex(u => u.id === 'chosen'), cols = +svg.dataset.cols;
    if (e.key === 'Enter' && at >= 0) { location.href = $('#readout a').href; return; }
    const step = STEPS[e.key];
    if (!step) return;
    e.preventDefault();
    const far = { cols, '-cols': -cols }[step] ?? step, last = all.length - 1;
    const to = step === 'home' ? 0 : step === 'end' ? last : at < 0 ? 0 : at + far;
    if (to >= 0 && to <= last) pick(all[to]);
  });
  d.addEventListener('click', e => { const u = e.target.closest('use[data-w]'); if (u) { pick(u); u.ownerSVGElement.focus({ preventScroll: true }); } });
  d.addEventListener('dblclick', e => { if (e.target.closest('use[data-w]')) location.href = $('#readout a').href; });
  d.addEventListener('mouseover', e => { const u = e.target.closest('use[data-w]'); if (u && !d.activeElement.closest?.('svg[role=listbox]')) pick(u); });
  d.addEventListener('focusin', e => { const svg = e.target.closest?.('svg[role=listbox]'); if (svg && !$('#chosen', svg) && $('use', svg)) pick($('use', svg)); });
  d.addEventListener('htmx:after:swap', () => {
    if (!chosen || $('#chosen')) return;
    const svg = d.getElementById(chosen[0]), u = svg && $$('use', svg).find(x => x.dataset.w === chosen[1]);
    if (u) pick(u);
  });
})();
