/* gpulayer.js – the only script of ours. Everything works without it, except shortcuts and copying. */
(() => {
  const d = document, $ = (s, e = d) => e.querySelector(s), $$ = (s, e = d) => [...e.querySelectorAll(s)];
  const typing = t => t.closest('input,textarea,select,[contenteditable]');
  const GO = { j: 'jobs', w: 'workers' };
  const url = n => ($(`.bar-top nav a[href$="/${n}"]`) || {}).href;
  const single = d.documentElement.dataset.keys !== 'off';   // profile switch, WCAG 2.1.4
  const said = {};
  const say = t => { const a = $('#announce'); a.textContent = ''; setTimeout(() => a.textContent = t, 50); };
  // a fragment's status line (data-say) is announced when it changes, not at every look
  const tell = t => { const s = t?.dataset?.say; if (s && s !== said[t.id]) { said[t.id] = s; say(s); } };
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
  const keys = () => { const k = $('#keys'); if (k) k.showModal(); else location.href = $('[data-keys]').href; };
  d.addEventListener('keydown', e => {
    if (e.ctrlKey && e.key === 'Enter') { const f = e.target.closest('form'); if (f) f.requestSubmit(); return; }
    if (!single || e.ctrlKey || e.metaKey || e.altKey || typing(e.target)) return;
    if (g && GO[e.key]) { g = 0; const u = url(GO[e.key]); if (u) location.href = u; return; }
    g = 0;
    const act = { '/': () => $('#q').focus(), f: () => ($('.filterbar input[type=search]') || {}).focus?.(), c: () => $('.bar-top .btn-primary')?.click(), '?': keys,
      j: () => step(1), k: () => step(-1), o: () => { const r = d.activeElement.closest('tr'); if (r) $('summary', r)?.click(); }, g: () => { g = 1; setTimeout(() => g = 0, 1200); } }[e.key];
    if (act) { e.preventDefault(); act(); }
  });
  d.addEventListener('click', e => {
    const c = e.target.closest('[data-copy]'), k = e.target.closest('[data-keys]'), x = e.target.closest('dialog [data-close]');
    if (c) { navigator.clipboard?.writeText($('code', c.parentElement).textContent.trim()); say('Copied'); }
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
  const stale = text => { const b = $('#stale'); b.hidden = !text; if (text) $('span', b).textContent = text; };
  let since = '';
  const lost = () => { since = since || new Date().toLocaleTimeString(); stale(`No answer from the server since ${since}. This page shows the state of then.`); $('#main').classList.add('stale'); };
  const found = () => { if (since) { since = ''; stale(''); $('#main').classList.remove('stale'); } };
  d.addEventListener('htmx:before:request', e => {
    const x = e.detail.ctx;
    if (d.hidden && polls(x)) { e.preventDefault(); return; }   // hidden tabs don't poll (trigger filters would need unsafe-eval)
    if (!polls(x)) x.target?.setAttribute?.('aria-busy', 'true');
  });
  d.addEventListener('htmx:before:response', e => {             // the session ended: the whole page has to say so
    const r = e.detail.ctx.response.raw;
    if (r.redirected && new URL(r.url).pathname === '/signin') { e.preventDefault(); location.reload(); return; }
    if (r.status >= 500) lost(); else found();
    if (r.status === 404 && polls(e.detail.ctx)) location.reload();
  });
  d.addEventListener('htmx:error', e => { if (e.detail.ctx?.request) lost(); });
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
})();
