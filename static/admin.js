// The theme that was chosen in the profile, before anything is drawn; else the system's.
"use strict";
{
  const chosen = document.cookie.match(/(?:^|; )theme=(light|dark)(?:;|$)/);
  document.documentElement.dataset.theme = chosen ? chosen[1] : "auto";
}
