/* gpulayer.js – the only script of ours. Everything works without it, except shortcuts and copying. */
(() => {
  const d = document, $ = (s, e = d) => e.querySelector(s), $$ = (s, e = d) => [...e.querySelectorAll(s)];
  const typing = t => t.closest('input,textarea,select,[contenteditable]');
  const place = key => /^[a-z]$/.test(key) && $(`.bar-top [data-go="${key}"]`);
  const single = d.documentElement.dataset.keys !== 'off';   // profile switch, WCAG 2.1.4
  const said = {};
  const say = t => { const a = $('#announce'); a.textContent = ''; setTimeout(() => a.textContent = t, 50); };
  // a fragment's status line (data-say) is announced when it changes, not at every look
  const tell = t => { const s = t?.dataset?.say; if (s && s !== said[t.id]) { said[t.id] = s; say(s); } };
  // a word in the corner: what was done goes by itself, what failed stays until it is closed
  const toast = (text, failed = false) => {
    const t = d.createElement('div'), x = d.createElement('button');
    t.className = `toast-x s-${failed ? 'never' : 'ok'}`; t.setAttribute('role', failed ? 'alert' : 'status');
    x.className = 'btn btn-sm btn-quiet'; x.type = 'button'; x.textContent = 'Close'; x.addEventListener('click', () => t.remove());
    $('#toasts').append(t); t.append(text);
    if (failed) t.append(x); else setTimeout(() => t.remove(), 5000);
  };
  // the server shows times as this browser would, unless the profile says otherwise
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (zone && !d.cookie.split('; ').includes(`gpulayer_zone=${zone}`)) d.cookie = `gpulayer_zone=${zone};path=/;max-age=31536000;samesite=lax${location.protocol === 'https:' ? ';secure' : ''}`;
  let g = 0;
  const step = n => {                       // j / k: to the next row's first link
    const rows = $$('table.stack > tbody > tr').map(r => $('th a, th input', r)).filter(Boolean);
    const at = rows.findIndex(a => a.closest('tr').contains(d.activeElement));
    const to = rows[Math.max(0, Math.min(rows.length - 1, at + n))];
    if (to) to.focus();
  };
  const keys = () => { const k = $('#keys'); if (k) k.showModal(); else location.href = $('a[data-keys]').href; };
  d.addEventListener('keydown', e => {
    if (e.ctrlKey && e.key === 'Enter') { const f = e.target.closest('form'); if (f) f.requestSubmit(); return; }
    if (e.key === 'Escape') $$('.menu[open]').forEach(m => { m.open = false; $('summary', m).focus(); });
    if (!single || e.ctrlKey || e.metaKey || e.altKey || typing(e.target)) return;
    const to = g && place(e.key);
    g = 0;
    if (to) { location.href = to.href; return; }
    const act = { '/': () => { const q = $('#q'); if (q?.checkVisibility()) q.focus(); else if ($('[data-find]')) location.href = $('[data-find]').href; }, f: () => ($('.filterbar input[type=search]') || {}).focus?.(), c: () => $('.bar-top .btn-primary')?.click(), '?': keys,
      j: () => step(1), k: () => step(-1), o: () => { const r = d.activeElement.closest('tr'); if (r) $('summary', r)?.click(); }, g: () => { g = 1; setTimeout(() => g = 0, 1200); } }[e.key];
    if (act) { e.preventDefault(); act(); }
  });
  d.addEventListener('click', e => {
    const c = e.target.closest('[data-copy]'), k = e.target.closest('a[data-keys]'), x = e.target.closest('dialog [data-close]');
    if (c) Promise.resolve(navigator.clipboard?.writeText($('code', c.parentElement).textContent.trim()) ?? Promise.reject())
      .then(() => toast('Copied'), () => toast('Not copied: the browser does not let this page. Select the text instead.', true));
    $$('.menu[open]').forEach(m => { if (!m.contains(e.target)) m.open = false; });
    if (k && $('#keys')) { e.preventDefault(); keys(); }
    if (x) { e.preventDefault(); x.closest('dialog').close(); }
  });
  // a folder becomes a tar in the file field: browsers send folders without their paths
  const SKIPPED = /(^|\/)(\.git|\.hg|\.svn|__pycache__|node_modules|\.venv|venv|\.[^/]*cache|\.ipynb_checkpoints)\//;
  const enc = new TextEncoder(), pad = n => new Uint8Array((512 - n % 512) % 512);
  const head = (name, size, type) => {
    const h = new Uint8Array(512), put = (t, at) => h.set(enc.encode(t), at), octal = (n, w) => n.toString(8).padStart(w, '0') + '\0';
    put(name, 0); put(octal(0o644, 7), 100); put(octal(0, 7), 108); put(octal(0, 7), 116); put(octal(size, 11), 124); put(octal(0, 11), 136);
    put(' '.repeat(8), 148); put(type, 156); put('ustar\x0000', 257);
    put(octal(h.reduce((a, b) => a + b, 0), 6) + ' ', 148);
    return h;
  };
  const tar = files => new File([...files.flatMap(f => {
    const path = f.webkitRelativePath, plain = /^[\x20-\x7e]{1,99}$/.test(path), rest = ` path=${path}\n`, size = enc.encode(rest).length;
    let n = size + 1; while (String(n).length + size !== n) n++;    // a record begins with its own length
    const more = plain ? [] : [head('name', n, 'x'), enc.encode(n + rest), pad(n)];
    return [...more, head(plain ? path : 'file', f.size, '0'), f, pad(f.size)];
  }), new Uint8Array(1024)], 'folder.tar');
  $$('[data-folder]').forEach(b => {
    const from = d.getElementById(b.dataset.folder), to = d.getElementById(b.dataset.into);
    b.hidden = false; b.addEventListener('click', () => from.click());
    from.addEventListener('change', () => {
      const files = [...from.files].filter(f => !SKIPPED.test(f.webkitRelativePath)), t = new DataTransfer();
      if (!files.length) return;
      t.items.add(tar(files)); to.files = t.files;
      $('.picked', b.parentElement).textContent = `${files.length} files of ${files[0].webkitRelativePath.split('/')[0]}, ${(t.files[0].size / 1e6).toFixed(1)} MB`;
    });
  });
  // facets: open on wide screens where ::details-content is not there to do it in CSS
  const facets = () => { if (!CSS.supports('selector(::details-content)') && matchMedia('(min-width:68rem)').matches) $$('.facets').forEach(x => x.open = true); };
  // the log stays at its end while Follow is on
  const follow = () => { const l = $('#log'); if (l && $('#fo')?.checked) l.scrollTop = l.scrollHeight; };
  d.addEventListener('change', e => { if (e.target.id === 'fo') follow(); });
  facets(); follow(); $$('[data-say]').forEach(t => said[t.id] = t.dataset.say);

  const polls = x => x.sourceElement?.hasAttribute?.('hx-ptag');
  // the connection: since when there is no answer, how old the page is by now, and when it asks again
  const time = ms => new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium', timeZone: d.body.dataset.zone || undefined }).format(ms);
  const ago = s => s < 60 ? `${s} s` : s < 3600 ? `${Math.floor(s / 60)} min` : `${Math.floor(s / 3600)} h ${Math.floor(s % 3600 / 60)} min`;
  let answered = Date.now(), wait = 0, next = 0, ticking = 0;
  const tick = () => {
    const left = Math.ceil((next - Date.now()) / 1000);
    $('#stale span').textContent = `This page shows the state of then, ${ago(Math.round((Date.now() - answered) / 1000))} ago. ${left > 0 ? `Next try in ${left} s.` : 'Trying…'}`;
  };
  const lost = failing => {
    if (Date.now() >= next) { wait = Math.min(8, 2 * wait || 2); next = Date.now() + 1000 * wait; }
    if (ticking) return;
    $('#stale strong').textContent = `${failing ? 'The server fails' : 'No connection'} since ${time(answered)}.`;
    $('#main').classList.add('stale'); $('#stale').hidden = false;
    $$('.live').forEach(x => { x.dataset.was = x.textContent; x.textContent = `State of ${time(answered)}`; });
    tick(); ticking = setInterval(tick, 1000);
  };
  const found = () => {
    answered = Date.now(); wait = next = 0;
    if (!ticking) return;
    clearInterval(ticking); ticking = 0;
    $('#main').classList.remove('stale'); $('#stale').hidden = true; $('#stale strong').textContent = '';
    $$('.live[data-was]').forEach(x => { x.textContent = x.dataset.was; delete x.dataset.was; });
  };
  addEventListener('online', () => { next = 0; });
  $('#stale a')?.addEventListener('click', e => { if ($('[hx-ptag][hx-trigger]')) { e.preventDefault(); next = wait = 0; tick(); } });
  d.addEventListener('htmx:before:request', e => {
    const x = e.detail.ctx;
    if (polls(x) && (d.hidden || Date.now() < next)) { e.preventDefault(); return; }   // hidden tabs don't poll (trigger filters would need unsafe-eval)
    if (!polls(x)) x.target?.setAttribute?.('aria-busy', 'true');
  });
  d.addEventListener('htmx:before:response', e => {             // the session ended: the whole page has to say so
    const x = e.detail.ctx, r = x.response.raw;
    if (r.redirected && new URL(r.url).pathname === '/signin') { e.preventDefault(); location.reload(); return; }
    if (r.status >= 500) lost(true); else found();
    if (r.status === 404 && polls(x)) location.reload();
    else if (r.status >= 400 && !polls(x)) toast(`Nothing was changed: the server answered ${r.status}. Reload the page and try again.`, true);
  });
  d.addEventListener('htmx:error', e => { if (e.detail.ctx?.request && !e.detail.ctx.response) lost(); });
  // rows that a person is in stay where they are: the list says that it has changed, and changes when it is left
  let held = null;
  const inside = t => t?.contains(d.activeElement?.closest('tbody')) || (getSelection().type === 'Range' && getSelection().containsNode(t, true));
  const order = t => $$('tbody > tr[id]', t).map(r => r.id).join();
  const newer = t => {
    if ($('.newer', t.parentElement)) return;
    const p = d.createElement('p'), b = d.createElement('button');
    p.className = 'note s-run newer mb-0'; p.setAttribute('role', 'status'); b.className = 'btn btn-sm'; b.type = 'button'; b.textContent = 'Show';
    b.addEventListener('click', () => show(true)); t.before(p); p.append('This list has changed. ', b);
  };
  const show = asked => {
    const x = held; held = null;
    $$('.newer[role=status]').forEach(p => p.remove());
    if (x) { x.seen = true; x.target = d.getElementById(x.target.id) || x.target; htmx.swap(x); if (asked) x.target.focus?.(); }
  };
  d.addEventListener('htmx:before:swap', e => {
    const x = e.detail.ctx, t = x.target;
    if (!polls(x) || x.seen) { if (held?.target === t) { held = null; show(); } return; }
    const was = t && order(t);
    if (!was || !inside(t) || was === order(new DOMParser().parseFromString(x.text, 'text/html'))) return;
    e.preventDefault(); held = x; newer(t);
  });
  d.addEventListener('focusout', e => { if (held && !held.target.contains(e.relatedTarget)) setTimeout(() => { if (held && !inside(held.target)) show(); }); });
  d.addEventListener('selectionchange', () => { if (held && !inside(held.target)) show(); });
  d.addEventListener('htmx:finally:request', e => e.detail.ctx.target?.removeAttribute?.('aria-busy'));
  // what a person has opened or ticked stays so when the piece around it is replaced
  let opened = [], ticked = [];
  d.addEventListener('htmx:before:swap', () => { opened = $$('details[id][open]').map(x => x.id); ticked = $$('input[data-keep]:checked').map(x => x.id); });
  d.addEventListener('htmx:after:swap', e => {
    opened.forEach(i => { const x = d.getElementById(i); if (x) x.open = true; });
    ticked.forEach(i => { const x = d.getElementById(i); if (x) x.checked = true; });
    tell(e.detail.ctx?.target || e.target); facets(); follow();
    $$('#dialogs dialog:not([open])').forEach(m => m.showModal());
  });
  // a question that was closed is gone: the next piece that arrives must not open it again
  d.addEventListener('close', e => { if (e.target.parentElement?.id === 'dialogs') e.target.remove(); }, true);
})();
