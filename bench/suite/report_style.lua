-- The style sheet of report.html: light and dark from the reader's settings, phone and print.

return [[
:root{color-scheme:light dark;
--page:#f6f5f1;--card:#fffefc;--ink:#16150f;--soft:#5b5a52;--faint:#8a897f;--rule:#e4e2d9;--grid:#ebe9e1;
--accent:#1f5fbf;--s1:#2a78d6;--s2:#1baf7a;--s3:#d99100;--s4:#2f7d1f;--s5:#5a48b8;--s6:#d9403f;--s7:#cf5f8d;--s8:#dd6428;
--ref:#b3b1a6;--good:#15803d;--bad:#b91c1c;--warn:#a16207;--tint:#eef3fb}
@media (prefers-color-scheme:dark){:root{
--page:#141412;--card:#1d1d1a;--ink:#efeee8;--soft:#b2b0a5;--faint:#85837a;--rule:#33322d;--grid:#2b2a26;
--accent:#7fb0f5;--s1:#4a94ec;--s2:#23a877;--s3:#cf9419;--s4:#5aa545;--s5:#998fec;--s6:#ea6c6b;--s7:#dd6d9c;--s8:#e0713c;
--ref:#6d6b62;--good:#4ade80;--bad:#f87171;--warn:#facc15;--tint:#1d2634}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;scroll-behavior:smooth}
body{margin:0;background:var(--page);color:var(--ink);font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",sans-serif}
main,header.top,footer{max-width:1120px;margin:0 auto;padding:0 24px}
header.top{padding-top:56px}
h1{font-size:clamp(28px,4.4vw,42px);line-height:1.12;letter-spacing:-.02em;margin:0 0 12px;text-wrap:balance}
h2{font-size:clamp(22px,3vw,29px);line-height:1.2;letter-spacing:-.015em;margin:0 0 4px;text-wrap:balance}
h3{font-size:19px;line-height:1.3;letter-spacing:-.005em;margin:0}
h4{font-size:13px;font-weight:600;letter-spacing:.04em;text-transform:uppercase;color:var(--soft);margin:0 0 8px}
p{margin:0 0 12px;max-width:72ch}
a{color:var(--accent);text-decoration-thickness:1px;text-underline-offset:3px}
.lead{font-size:18px;color:var(--soft);max-width:66ch}
.meta{color:var(--faint);font-size:14px}
nav{display:flex;flex-wrap:wrap;gap:8px;margin:24px 0 0}
nav a{border:1px solid var(--rule);border-radius:999px;padding:5px 14px;font-size:14px;text-decoration:none;color:var(--ink);background:var(--card)}
nav a:hover{border-color:var(--accent);color:var(--accent)}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:1px;background:var(--rule);border:1px solid var(--rule);border-radius:12px;overflow:hidden;margin:28px 0}
.tile{background:var(--card);padding:16px 18px}
.tile b{display:block;font-size:30px;line-height:1.15;letter-spacing:-.02em;font-weight:650;font-variant-numeric:tabular-nums}
.tile span{font-size:14px;color:var(--soft)}
section.document{margin:72px 0 0;padding-top:28px;border-top:2px solid var(--ink)}
.year{font-size:14px;font-weight:600;color:var(--soft);font-variant-numeric:tabular-nums;letter-spacing:.02em}
.story{margin:20px 0 8px;display:grid;grid-template-columns:minmax(84px,max-content) 1fr;gap:9px 22px}
.story dt{font-weight:600;color:var(--soft);font-size:15px}
.story dd{margin:0;max-width:78ch}
article{background:var(--card);border:1px solid var(--rule);border-radius:14px;padding:24px 26px;margin:24px 0}
article>header{margin-bottom:16px}
.load{color:var(--soft);font-size:14px;margin:4px 0 0}
.figures{display:grid;grid-template-columns:repeat(2,minmax(0,1fr));gap:28px 32px;margin:8px 0 4px}
.figures.one{grid-template-columns:minmax(0,720px)}
figure{margin:0;min-width:0}
figcaption{font-size:14px;font-weight:600;margin:0 0 6px}
svg{display:block;width:100%;height:auto;overflow:visible;font-family:inherit}
.scroll{overflow-x:auto;margin:0 -4px;padding:0 4px}
table{border-collapse:collapse;width:100%;font-size:14px;font-variant-numeric:tabular-nums}
th{font-weight:600;color:var(--soft);text-align:left;font-size:13px;vertical-align:bottom}
th,td{padding:7px 12px 7px 0;border-bottom:1px solid var(--rule);vertical-align:top}
td.n,th.n{text-align:right;white-space:nowrap}
tbody tr:last-child td{border-bottom:0}
.small{color:var(--faint);font-size:13px}
.chip{display:inline-block;border-radius:6px;padding:1px 8px;font-size:13px;font-weight:600;white-space:nowrap;border:1px solid currentColor}
.chip.reproduced{color:var(--good)}.chip.reversed{color:var(--bad)}.chip.equal,.chip.open{color:var(--soft)}.chip.artefact{color:var(--warn)}
.brief{list-style:none;margin:0;padding:0}.brief li{padding:0 0 12px;margin:0 0 12px;border-bottom:1px solid var(--rule)}.brief li:last-child{border:0}
.brief a{font-weight:600;text-decoration:none}.brief a:hover{text-decoration:underline}.brief p{margin:3px 0 0;font-size:15px;line-height:1.45}.brief p.small{font-size:13.5px}
.note{border-left:3px solid var(--warn);padding:2px 0 2px 14px;margin:10px 0;font-size:15px;color:var(--soft);max-width:80ch}
.findings{margin:0;padding:0 0 0 18px;max-width:80ch}.findings li{margin:0 0 7px}
details{border-top:1px solid var(--rule);margin-top:14px;padding-top:12px}
details+details{margin-top:12px}
summary{cursor:pointer;font-size:14px;font-weight:600;color:var(--accent)}
summary:focus-visible,a:focus-visible{outline:2px solid var(--accent);outline-offset:3px;border-radius:4px}
details>div{margin-top:12px}
pre{background:var(--page);border:1px solid var(--rule);border-radius:8px;padding:12px 14px;font:12.5px/1.5 ui-monospace,"SF Mono",Menlo,Consolas,monospace;overflow-x:auto;margin:6px 0 14px;max-height:420px}
code{font:.9em ui-monospace,"SF Mono",Menlo,Consolas,monospace;overflow-wrap:anywhere}
footer{margin-top:72px;padding-top:20px;padding-bottom:56px;color:var(--faint);font-size:14px}
.grid{stroke:var(--grid);stroke-width:1}.lane{stroke:var(--rule);stroke-width:1}.unity{stroke:var(--ink);stroke-width:1.5}
.tick{font-size:12px;fill:var(--faint);font-variant-numeric:tabular-nums}
.axis-title{font-size:12.5px;fill:var(--soft)}
.label{font-size:13.5px;font-weight:550;fill:var(--ink)}
.halo{paint-order:stroke;stroke:var(--card);stroke-width:5px;stroke-linejoin:round}
.context{font-size:12.5px;fill:var(--faint)}
.value{font-size:13px;fill:var(--soft);font-variant-numeric:tabular-nums}
.end-label{font-size:12.5px;fill:var(--ink)}
.bar.documented{fill:var(--s1)}.bar.tuned{fill:var(--s2)}.bar.reference{fill:var(--ref)}
.bar.front{fill:var(--s1)}.bar.application{fill:var(--s8)}.bar.behind{fill:var(--s5)}.bar.client{fill:var(--ref)}
.whisker{stroke:var(--ink);stroke-width:1.5;opacity:.75}
.line{stroke-width:2;stroke-linejoin:round;stroke-linecap:round}.line.faint{opacity:.35}.line.dashed{stroke-dasharray:5 4}
.leader{stroke-width:1;opacity:.45}
.line.fit{stroke:var(--s2)}.line.bound{stroke:var(--faint);stroke-dasharray:3 4}.mark{stroke:var(--s8);stroke-width:2}
.s1{--c:var(--s1)}.s2{--c:var(--s2)}.s3{--c:var(--s3)}.s4{--c:var(--s4)}.s5{--c:var(--s5)}.s6{--c:var(--s6)}.s7{--c:var(--s7)}.s8{--c:var(--s8)}
.bar.s1,.bar.s2,.bar.s3,.bar.s5,.bar.s8,.use,.point{fill:var(--c)}
.line.s1,.line.s2,.line.s3,.line.s4,.line.s5,.line.s6,.line.s7,.line.s8,.leader{stroke:var(--c)}
.slot{fill:var(--grid)}.slot.twin{fill:none;stroke:var(--faint);stroke-dasharray:2 2}
.then{fill:var(--card);stroke:var(--ink);stroke-width:1.75}.then.artefact{stroke:var(--warn);stroke-dasharray:2.5 2}
.dot{stroke:var(--card);stroke-width:2}
.interval{stroke-width:4;stroke-linecap:round;opacity:.45}
.today-reproduced{fill:var(--good);--t:var(--good)}.today-reversed{fill:var(--bad);--t:var(--bad)}.today-equal{fill:var(--faint);--t:var(--faint)}
.interval.today-reproduced,.interval.today-reversed,.interval.today-equal{stroke:var(--t)}
.judged-reproduced{fill:var(--good)}.judged-reversed{fill:var(--bad)}.judged-artefact{fill:var(--warn)}
.key{display:flex;flex-wrap:wrap;gap:4px 18px;font-size:13px;color:var(--soft);margin:8px 0 0;padding:0;list-style:none}
.key i{display:inline-block;width:10px;height:10px;border-radius:2px;margin-right:6px}.key i.round{border-radius:50%}.key i.then{border-radius:0;transform:rotate(45deg) scale(.85);border:1.75px solid var(--ink);background:var(--card)}
@media (max-width:820px){.figures{grid-template-columns:minmax(0,1fr)}}
@media (max-width:560px){main,header.top,footer{padding-left:16px;padding-right:16px}header.top{padding-top:32px}
article{padding:18px 16px;margin-left:-6px;margin-right:-6px}.story{grid-template-columns:1fr;gap:2px 0}.story dd{margin-bottom:10px}
.scroll table{min-width:660px}.tile b{font-size:25px}.label,.value,.end-label{font-size:15px}.tick,.axis-title{font-size:14px}section.document{margin-top:52px}}
@media print{:root{--page:#fff;--card:#fff;--ink:#000;--soft:#333;--faint:#555;--rule:#ccc;--grid:#e5e5e5}
body{font-size:11pt}article{break-inside:auto;border-color:#bbb}figure,tr,.tile{break-inside:avoid}nav{display:none}pre{max-height:none;white-space:pre-wrap}
section.document{break-before:page}}
]]
