// Follows the server's events and draws the state of the containers. Events change values and ask for drawings with
// `later`; drawings happen once a frame. Names come from other devices: they enter the page as text only.

const $ = (selector) => document.querySelector(selector);
const own = document.body.dataset.container;
const isOverview = $("#cards") !== null;
const isUnknown = $("#pane") === null;
const allowsActions = ["true", "1"].includes(document.body.dataset.actions);

const [summaries, tables] = [new Map(), new Map()];
let [account, traffic] = [null, {}];
// MARK: Elements
/** Makes an element. Attributes that are undefined, null or false are left out; functions are listeners. */
function make(name, attributes = {}, ...children) {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
        if (typeof value === "function") element.addEventListener(key, value);
        else if (value !== undefined && value !== null && value !== false) element.setAttribute(key, value);
    }
    element.append(...children);
    return element;
}
/** Makes an element for text from elsewhere, whose direction does not touch what stands beside it. */
const isolated = (text, style) => make("bdi", { class: style }, text);
const shownValues = new WeakMap();
/** Shows a list of values, each with one element. If the list has not changed, its elements, focus and selection stay. */
function fill(element, values, makeOne) {
    const text = JSON.stringify(values);
    if (!element || shownValues.get(element) === text) return false;
    shownValues.set(element, text);
    element.replaceChildren(...values.map(makeOne));
    return true;
}
const widen = (element, width) => { element.style.inlineSize = width; return element; };
const setText = (element, text) => { if (element && element.textContent !== text) element.textContent = text; };
const setAttribute = (element, name, value) => { if (element.getAttribute(name) !== String(value)) element.setAttribute(name, value); };
/** Tells people who listen to the page. */
const announce = (text) => setText($("#notice"), text);
const drawings = new Set();
/** Draws with the next frame, once for all requests until then. */
function later(drawing) {
    if (drawings.size === 0) (document.hidden ? setTimeout : requestAnimationFrame)(draw);
    drawings.add(drawing);
}

function draw() {
    for (const drawing of drawings) if (drawings.delete(drawing)) drawing();
    const { dataset } = document.documentElement;
    const isDrawn = isOverview ? summaries.size > 0 || account?.containers.length === 0 : summaries.size > 0 && tables.get(pane)?.shown;
    if (dataset.ready || !isDrawn && !isUnknown && !isAbsent()) return;
    dataset.ready = "true";
    performance.mark("pane-ready");
}

/** Makes a command with a button that copies it; without access to the clipboard the button selects it. */
function command(text) {
    const copied = () => { setText(button, "Copied ✓"); announce("The command is copied."); setTimeout(() => setText(button, "Copy"), 2000); };
    const copy = () => navigator.clipboard.writeText(text).then(copied, () => getSelection().selectAllChildren(button.previousSibling));
    const button = make("button", { type: "button", "aria-label": `Copy ${text}`, click: copy }, "Copy");
    return make("span", { class: "command" }, make("code", {}, isolated(text)), button);
}

// MARK: Words
const number = (count) => count.toLocaleString("en");
const amount = (count, word) => `${number(count)} ${word}${count === 1 ? "" : "s"}`;
/** Returns a size such as `1.2 MB`. */
function size(bytes) {
    if (bytes < 999.5) return amount(bytes, "byte");
    const unit = Math.min(5, Math.floor(Math.log10(bytes * 1.0005) / 3));
    const value = bytes / 1000 ** unit;
    return `${Number(value.toFixed(unit < 2 || value >= 99.95 ? 0 : 1))} ${["", "kB", "MB", "GB", "TB", "PB"][unit]}`;
}

// Ages count from the server's clock.
let skew = 0;
const now = () => Date.now() + skew;
function age(time) {
    const seconds = Math.floor((now() - time) / 1000);
    if (seconds < 10) return seconds < -60 ? "ahead" : "now";
    const [length, unit] = [[86_400, "d"], [3600, "h"], [60, "min"], [10, "0 s"]].find(([least]) => seconds >= least);
    return `${Math.floor(seconds / length)}${length > 10 ? " " : ""}${unit} ago`;
}

// MARK: Connection
let [source, version, wait, isConnected, heard] = [null, null, 0, true, Date.now()];
/** Connects. The page of an unknown container looks for it in the events of all. */
function connect() {
    source?.close();
    heard = Date.now();
    source = new EventSource(own && !isUnknown ? `/events?container=${encodeURIComponent(own)}` : "/events");
    for (const [name, take] of Object.entries(events)) source.addEventListener(name, ({ data }) => { heard = Date.now(); take(JSON.parse(data)); });
    source.onerror = () => {
        lost();
        if (source.readyState === EventSource.CLOSED) setTimeout(connect, 1000 * (wait = Math.min(30, Math.max(2, wait * 2))));
    };
}

/** Says that the page is not connected, and why. */
async function lost() {
    const banner = $("#connection");
    const text = `Not connected since ${new Date(heard).toLocaleTimeString()}. The page shows the last state, and returns by itself.`;
    if (isConnected) banner.replaceChildren(make("p", {}, text));
    isConnected = banner.hidden = false;
    document.body.dataset.connected = "false";
    // EventSource does not tell the status of a refusal; another request does.
    const answer = await fetch("/icon.svg", { cache: "no-store" }).catch(() => null);
    if (isConnected || answer?.status !== 403) return;
    banner.replaceChildren(make("p", {}, "This page may not read the state now. Open it again with this command:"), command("ubwatch serve --open"));
}

const events = {
    hello({ time, version: served }) {
        // Another version of the server has another script.
        if (version !== null && served !== version) location.reload();
        [version, wait, skew] = [served, 0, Date.parse(time) - Date.now()];
        summaries.clear();
        isConnected = $("#connection").hidden = true;
        document.body.dataset.connected = "true";
    },
    beat() {},
    account(value) {
        const wasAbsent = isAbsent();
        account = value;
        for (const id of summaries.keys()) if (isOverview && !value.containers.includes(id)) summaries.delete(id);
        if (isUnknown && own !== "" && !isAbsent()) location.reload();
        // A container that is back is read from the beginning.
        else if (wasAbsent && !isAbsent()) connect();
        later(drawAccount);
    },
    summary(value) {
        if ((summaries.get(value.id)?.words ?? value.words) !== value.words) announce(`${value.id}: ${value.words}`);
        summaries.set(value.id, value);
        later(drawState);
    },
    removed({ id }) { if (account) events.account({ ...account, containers: account.containers.filter((other) => other !== id) }); },
    table({ pane: name, whole, change }) {
        if (!tables.has(name)) tables.set(name, new Table());
        const table = tables.get(name);
        if (whole) table.replace(whole); else table.change(change);
        later(drawTabs);
        // Rows that take long to arrange are arranged less often.
        table.timer ??= setTimeout(() => { table.timer = null; if (name === pane) later(drawTable); }, table.cost * 10);
    },
    traffic({ spans }) { traffic = Object.fromEntries(spans.map((span) => [span.name, span])); later(drawGraph); },
    moved({ time, up, down }) {
        for (const span of Object.values(traffic)) {
            advance(span, time);
            const column = span.columns.at(-1 - (span.end - (time - time % span.seconds)) / span.seconds);
            [...up, ...down].forEach((count, index) => { if (column) column[index] += count; });
        }
        later(drawGraph);
    },
};

// MARK: Account and state
/** Whether the page's container is not in the account now. */
const isAbsent = () => own !== "" && account !== null && !account.containers.includes(own);
const address = (id) => id === "" ? "/" : `/container/${encodeURIComponent(id)}`;
function drawAccount() {
    fill($("#account"), [account.words], (words) => isolated(words));
    fill($("#containers"), ["", ...account.containers], (id) => make("li", {}, make("a",
        { href: address(id), "data-container": id || null, "aria-current": id === own && "page" }, id === "" ? "All containers" : isolated(id))));
    $("#containers [aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
    drawState();
}

function drawState() {
    const summary = summaries.get(own);
    const missing = [];
    if (isAbsent()) missing.push(`The container does not belong to ${account.name ?? "an account that is signed in"} now.`);
    else if (summary?.isPresent === false) missing.push("The container is not there: it was wiped or removed.");
    fill($("#absent"), missing, (text) => make("p", {}, isolated(text), " The page shows the last state, and follows when the container is back."));
    $("#absent").hidden = missing.length === 0 || isUnknown;
    if (isOverview) drawOverview(); else if (summary) drawContainer(summary);
}

function setState(words, tone, state = "") {
    setText($("#state"), words);
    Object.assign($("#state").dataset, { tone, state });
    document.title = `${words} – ${own || "Ubiquity"}`;
}

function drawContainer(summary) {
    const { id, failure, reasons, remedies, sentences, space, tone, troubles } = summary;
    setState(summary.words, tone, summary.state);
    const held = troubles === 0 ? "nothing" : number(troubles);
    setText($("#facts"), `${amount(summary.items, "item")}, ${amount(summary.peers, "peer")}, ${held} held or in conflict`);
    $("#why").hidden = !failure && reasons.length + remedies.length === 0;
    setAttribute($("#why"), "data-tone", failure ? "bad" : tone);
    setText($("#why-title"), failure || tone === "bad" ? "Needs attention" : "Reasons");
    fill($("#failure"), failure ? [failure, " The facts below are older."] : [], (text) => isolated(text));
    fill($("#reasons"), reasons, (text) => make("li", {}, isolated(text)));
    fill($("#remedies"), remedies, (text) => make("li", {}, command(text)));
    fill($("#sentences"), sentences, (sentence) =>
        make("div", { "data-tone": sentence.tone }, make("dt", {}, isolated(sentence.subject)), make("dd", {}, isolated(sentence.text))));
    fill($("#actions"), allowsActions ? summary.actions ?? [] : [], (name) => actionButton(name, id));
    drawMeter(space, "in this container", space.bytes >= (space.mark ?? Infinity) ? "over the mark" : "over the mark: the disk is nearly full");
}

function drawOverview() {
    const all = (account?.containers ?? [...summaries.keys()]).map((id) => summaries.get(id)).filter(Boolean);
    const sum = (value) => all.reduce((total, summary) => total + Number(value(summary)), 0);
    const [bad, busy] = ["bad", "busy"].map((tone) => sum((summary) => summary.tone === tone));
    if (bad > 0) setState(`${amount(bad, "container")} ${bad === 1 ? "needs" : "need"} attention`, "bad");
    else if (busy > 0) setState(`${amount(busy, "container")} ${busy === 1 ? "is" : "are"} busy`, "busy");
    else setState(all.length > 0 ? "all is well" : "no containers", all.length > 0 ? "good" : "quiet");
    setText($("#facts"), `${amount(all.length, "container")}, ${amount(sum(({ items }) => items), "item")}`);
    fill($("#cards"), all.length > 0 ? all : [{ words: account?.words ?? "Looking …" }], card);
    const disk = all.find(({ space }) => space.capacity)?.space;
    const over = sum(({ space }) => space.isOver);
    const kinds = all.map(({ id, space }) => ({ ...space, name: id }));
    drawMeter({ ...disk, bytes: sum(({ space }) => space.bytes), isOver: over > 0, mark: null, kinds }, "in all containers",
        `${amount(over, "container")} over the mark`);
}

function card({ id, failure, isPresent, items, reasons, space, state, tone, troubles, words }) {
    if (!id) return make("p", { class: "box faint" }, words);
    const figures = [["Items", number(items)], ["Space", size(space.bytes), space.isOver], ["Problems", number(troubles), troubles > 0]];
    const reason = failure ?? (isPresent ? reasons[0] ?? "Nothing is in the way." : "The container was wiped or removed.");
    return make("article", { class: "card", "data-container": id, "data-tone": tone },
        make("h3", {}, make("a", { href: address(id) }, isolated(id))),
        make("p", { class: "state", "data-tone": tone, "data-state": state }, words), make("p", { class: "reason" }, isolated(reason)),
        make("dl", {}, ...figures.map(([name, text, isBad]) =>
            make("div", {}, make("dt", {}, name), make("dd", { class: isBad && "wrong" }, text)))));
}

/** Draws a bar of the kinds with the quota's mark, a legend, and a bar of the disk. */
function drawMeter(space, place, over) {
    const { bytes, capacity, free, isOver, mark = null } = space;
    const kinds = space.kinds.filter((kind) => kind.bytes > 0);
    const whole = Math.max(bytes, kinds.reduce((sum, kind) => sum + kind.bytes, 0), (mark ?? 0) * 1.05, 1);
    const part = (style, share, title) => widen(make("span", { class: style, title }), `${Math.min(100, Math.max(0, share * 100))}%`);
    const bar = (style, ...parts) => make("div", { class: style, "aria-hidden": "true" }, ...parts);
    const sum = [make("b", {}, size(bytes)), ` ${place}`, mark === null ? "" : `, the mark is ${size(mark)}`];
    if (isOver) sum.push(" ", make("strong", { class: "wrong" }, over));
    const parts = kinds.map((kind, index) => part(`kind k${index % 10}`, kind.bytes / whole, `${kind.name}: ${size(kind.bytes)}`));
    // The end of an empty part is the mark.
    if (mark !== null) parts.push(part("mark", mark / whole, `mark: ${size(mark)}`));
    const legend = kinds.map((kind, index) => make("li", {}, make("i", { class: `kind k${index % 10}` }), isolated(kind.name),
        make("span", { class: kind.isOver ? "wrong" : "faint" }, size(kind.bytes) + (kind.isOver ? ", over" : ""))));
    const disk = [part("kind here", bytes / capacity, "containers"), part("kind", (capacity - free - bytes) / capacity, "other files")];
    const room = typeof free === "number" ? `${size(free)} free${capacity ? ` of ${size(capacity)} on the disk` : ""}` : "";
    setAttribute($("#meter"), "data-over", isOver);
    fill($("#meter"), [[space, over]], () => make("div", {}, make("p", { class: "sum" }, ...sum), bar("bar", ...parts),
        make("ul", { class: "legend" }, ...legend), room && capacity ? bar("bar disk", ...disk) : "", make("p", { class: "faint" }, room)));
}

// MARK: Transfer graph
// The number of columns that a span keeps, and how many of them make a bar.
const spans = {
    minute: { limit: 60, group: 1, bar: "1 second", words: "the last minute", marks: ["60 s ago", "30 s ago"] },
    hour: { limit: 360, group: 3, bar: "30 seconds", words: "the last hour", marks: ["60 min ago", "30 min ago"] },
    day: { limit: 144, group: 2, bar: "20 minutes", words: "the last day", marks: ["24 h ago", "12 h ago"] },
};
const choice = { span: "minute", unit: "bytes" };
let bars = [];
/** Adds empty columns for the time that has passed. */
function advance(span, seconds) {
    const passed = Math.max(0, Math.floor((seconds - span.end) / span.seconds));
    const columns = Array.from({ length: Math.min(passed, spans[span.name].limit) }, () => [0, 0, 0, 0]);
    span.end += passed * span.seconds;
    span.columns = [...span.columns, ...columns].slice(-spans[span.name].limit);
}

function drawGraph() {
    const span = traffic[choice.span];
    if (!span) return;
    advance(span, now() / 1000);
    const { limit, group, bar: length, words, marks } = spans[choice.span];
    const count = limit / group;
    // Columns join in fixed steps of time, so that bars keep their heights while they move.
    const step = group * span.seconds;
    const first = Math.floor(span.end / step) - count + 1;
    bars = Array.from({ length: count }, (_, index) => ({ time: (first + index) * step, values: [0, 0, 0, 0] }));
    span.columns.forEach((column, index) => {
        const bar = bars[Math.floor((span.end - (span.columns.length - 1 - index) * span.seconds) / step) - first];
        if (bar) bar.values = bar.values.map((value, at) => value + column[at]);
    });
    const [up, down] = choice.unit === "bytes" ? [0, 2] : [1, 3];
    const show = choice.unit === "bytes" ? size : (value) => amount(value, "item");
    const most = Math.max(...bars.map(({ values }) => Math.max(values[up], values[down])));
    const path = (at, sign) => bars.map(({ values }, index) =>
        values[at] === 0 ? "" : `M${index + 0.12} 50v${(sign * Math.max(1, values[at] / most * 46)).toFixed(2)}h.76V50z`).join("");
    const svg = $("#graph svg");
    setAttribute(svg, "viewBox", `0 0 ${count} 100`);
    setAttribute(svg.querySelector(".up"), "d", path(up, -1));
    setAttribute(svg.querySelector(".down"), "d", path(down, 1));
    const total = (at) => span.columns.reduce((sum, column) => sum + column[at], 0);
    const inWords = (at) => total(at) + total(at + 1) === 0 ? "nothing" : `${size(total(at))} in ${amount(total(at + 1), "item")}`;
    const texts = {
        "#peak-up": most > 0 && `↑ ${show(most)}`, "#peak-down": most > 0 && `↓ ${show(most)}`, "#axis-old": marks[0], "#axis-middle": marks[1],
        "#total-up": inWords(0), "#total-down": inWords(2), "#span-up": `sent in ${words}`, "#span-down": `received in ${words}`,
    };
    for (const [selector, text] of Object.entries(texts)) setText($(selector), text || "");
    const peak = most > 0 ? `, at most ${show(most)} in ${length}` : "";
    setAttribute(svg, "aria-label", `Transfer in ${words}: ${inWords(0)} sent, ${inWords(2)} received${peak}`);
}

// MARK: Tables
// The panes whose sentences wrap, and up to how many rows.
const wrapping = { troubles: 200, stores: 200 };
/** The rows of a pane, with the order and the words that the reader has chosen. */
class Table {
    sort = null;
    words = "";
    cost = 0;

    replace({ columns, rows, empty }) {
        Object.assign(this, { columns, rows, empty, isStale: true });
        if (this.sort?.column >= columns.length) this.sort = null;
        const titles = columns.map(({ title }) => title);
        // The column that names a row.
        this.main = Math.max(0, titles.findIndex((title) => ["Item", "Peer", "What", "Change"].includes(title)));
        this.lengths = titles.map((title) => title.length * 0.9 + 1);
        this.measure(rows);
    }

    change({ gone = [], set = [], added = [] }) {
        const [goneIds, changed] = [new Set(gone), new Map(set.map((row) => [row.id, row]))];
        const rows = this.rows.filter(({ id }) => !goneIds.has(id)).map((row) => changed.get(row.id) ?? row);
        for (const [index, row] of added) rows.splice(index, 0, row);
        Object.assign(this, { rows, isStale: true });
        this.measure([...set, ...added.map(([, row]) => row)]);
    }

    /** Keeps the greatest lengths of the cells, for the columns' widths, and whether there are actions. */
    measure(rows) {
        const keep = ([text, , , time], index) => { this.lengths[index] = Math.max(this.lengths[index], time ? 10 : text.length); };
        for (const { cells } of rows) cells.forEach(keep);
        this.hasActions = allowsActions && this.rows.some(({ actions }) => actions?.length > 0);
    }
    /** Filters and sorts; rows with equal keys keep the server's order, and numbers stand before texts. */
    arrange() {
        const began = performance.now();
        const words = this.words.toLowerCase().split(/\s+/).filter(Boolean);
        const text = (row) => row.words ??= row.cells.map((cell) => cell[0]).join("\n").toLowerCase();
        this.shown = words.length === 0 ? this.rows : this.rows.filter((row) => words.every((word) => text(row).includes(word)));
        const { column, sign } = this.sort ?? {};
        const key = ([text, , value, time] = [""]) => time ? Date.parse(time) : value ?? text.toLowerCase();
        const compare = (one, other) => typeof one !== typeof other ? (typeof one === "number" ? -1 : 1) : one < other ? -1 : Number(one > other);
        const keyed = column === undefined ? [] : this.shown.map((row) => [key(row.cells[column]), row]);
        if (this.sort) this.shown = keyed.sort(([one], [other]) => sign * compare(one, other)).map(([, row]) => row);
        Object.assign(this, { isStale: false, cost: performance.now() - began });
    }
}

const tabs = [...document.querySelectorAll("[role=tab]")];
let pane = isOverview ? "changes" : tabs.find((tab) => tab.dataset.pane === location.hash.slice(1))?.dataset.pane ?? "items";
const [scroller, body] = [$("#scroller"), $("#pane tbody")];
// The elements of the rows in sight.
const elements = new Map();
let rowHeight = 0;

function drawTabs() {
    for (const tab of tabs) {
        const isChosen = tab.dataset.pane === pane;
        setAttribute(tab, "aria-selected", isChosen);
        tab.tabIndex = isChosen ? 0 : -1;
        if (isChosen) setAttribute($("#pane"), "aria-labelledby", tab.id);
    }
    const count = tables.get("troubles")?.rows.length;
    if (!isOverview) $("#tab-troubles").dataset.count = count ? number(count) : "";
}

function choose(name) {
    pane = name;
    history.replaceState(null, "", `#${name}`);
    $("#filter").value = tables.get(name)?.words ?? "";
    scroller.scrollTop = 0;
    drawTabs();
    drawTable();
}

function clearRows() {
    elements.clear();
    rowHeight = 0;
    const spacer = () => make("tr", { class: "spacer", "aria-hidden": "true" }, make("td", { colspan: $("#pane thead").rows[0]?.cells.length }));
    body.replaceChildren(spacer(), spacer());
}
/** Draws the header, the widths, the counts, and the rows in sight. */
function drawTable() {
    const table = tables.get(pane);
    const element = $("#pane table");
    element.hidden = !table;
    scroller.dataset.pane = pane;
    if (!table) return setText($("#empty"), "Looking …");
    if (table.isStale) table.arrange();
    const title = $(`#tab-${pane}`)?.textContent ?? "Changes";
    setText($("#pane caption"), title);
    setAttribute(scroller, "aria-label", `${title}, rows`);
    const heads = table.columns.map((column) => make("th", { scope: "col", class: column.isRight && "right", "aria-sort": "none" },
        make("button", { type: "button" }, isolated(column.title))));
    if (table.hasActions) heads.push(make("th", { scope: "col" }, "Actions"));
    if (fill($("#pane thead"), [[pane, table.columns, table.hasActions]], () => make("tr", { "aria-rowindex": 1 }, ...heads))) clearRows();
    document.querySelectorAll("#pane [aria-sort]").forEach((head, index) =>
        setAttribute(head, "aria-sort", table.sort?.column !== index ? "none" : table.sort.sign > 0 ? "ascending" : "descending"));
    // The column that names the row takes the width that the others leave.
    const [least, most] = pane in wrapping || pane === "peers" ? [14, 18] : [24, 30];
    const widths = table.lengths.map((length, index) => index === table.main ? 0 : Math.ceil(Math.min(length, most) * 1.1));
    if (table.hasActions) widths.push(7);
    fill($("#pane colgroup"), widths, (width, index) => widen(make("col"), width ? `calc(${width}ch + ${index ? 1.1 : 2}rem)` : ""));
    element.style.minInlineSize = `calc(${widths.reduce((sum, width) => sum + width, least)}ch + ${widths.length * 1.1}rem)`;
    setAttribute(element, "aria-rowcount", table.shown.length + 1);
    setText($("#count"), `${number(table.shown.length)} of ${number(table.rows.length)}`);
    setText($("#empty"), table.shown.length > 0 ? "" : table.rows.length > 0 ? "No row has all these words." : table.empty);
    drawRows();
}
/** Draws the rows in sight and some around them; two spacers stand for the others. */
function drawRows() {
    const [table, rows] = [tables.get(pane), tables.get(pane)?.shown];
    if (!rows) return;
    const isWhole = rows.length <= wrapping[pane];
    scroller.classList.toggle("wraps", isWhole);
    if (rowHeight === 0 && rows.length > 0) {
        const sample = body.insertBefore(makeRow(table, rows[0]), body.lastChild);
        rowHeight = sample.getBoundingClientRect().height || 36;
        sample.remove();
    }
    const top = rowHeight > 0 ? Math.min(rows.length, Math.floor(scroller.scrollTop / rowHeight)) : 0;
    const first = isWhole ? 0 : Math.max(0, top - 12);
    const end = isWhole ? rows.length : Math.min(rows.length, top + Math.ceil(innerHeight / (rowHeight || 36)) + 12);
    const wanted = new Set(rows.slice(first, end));
    const hadFocus = body.contains(document.activeElement);
    for (const [row, element] of elements) if (!wanted.has(row) && elements.delete(row)) element.remove();
    // One row takes part in the order of the Tab key; the arrow keys choose it.
    const current = [...wanted].find(({ id }) => id === table.current) ?? rows[top];
    let [next, index] = [body.firstChild.nextSibling, first + 2];
    for (const row of wanted) {
        if (!elements.has(row)) elements.set(row, makeRow(table, row));
        const element = elements.get(row);
        setAttribute(element, "aria-rowindex", index++);
        for (const button of element.querySelectorAll("button")) button.tabIndex = row === current ? 0 : -1;
        if (element === next) next = next.nextSibling; else body.insertBefore(element, next);
    }
    body.firstChild.firstChild.style.blockSize = `${first * rowHeight}px`;
    body.lastChild.firstChild.style.blockSize = `${(rows.length - end) * rowHeight}px`;
    if (hadFocus && !body.contains(document.activeElement)) (opener(current) ?? scroller).focus({ preventScroll: true });
    drawAges();
}

const opener = (row) => elements.get(row)?.querySelector(".open");
const rowOf = (element) => [...elements].find(([, candidate]) => candidate === element)?.[0];
/** Makes a row. The cell that names it is its heading, and opens its target. */
function makeRow(table, row) {
    const opens = row.target !== undefined && row.target !== null;
    const cells = row.cells.map(([text, style, , time], index) => {
        const { title, isRight } = table.columns[index];
        const isMain = index === table.main;
        let content = isolated(text, `clip ${style}`);
        if (time) content = make("time", { datetime: time, title: new Date(time).toLocaleString(), class: `clip ${style}` });
        else if (title === "See" && text) content = command(text);
        const blocks = title === "Share" ? text.lastIndexOf("█") + 1 : 0;
        if (blocks > 0) content = make("span", { class: "share" }, widen(make("i"), `${blocks / 4}rem`), text.slice(blocks));
        if (isMain && opens) content = make("button", { type: "button", class: "open" }, content);
        const attributes = { class: isRight && "right", "data-title": title, title: text.length > 20 && text, scope: isMain && "row" };
        return make(isMain ? "th" : "td", attributes, content);
    });
    const buttons = row.actions?.map((name) => actionButton(name, row.cells[table.main][0], row.target)) ?? [];
    if (table.hasActions) cells.push(make("td", { class: "actions" }, ...buttons));
    return make("tr", { "data-id": row.id, class: opens && "opens" }, ...cells);
}

const drawAges = () => { for (const element of document.querySelectorAll("#pane time")) setText(element, age(Date.parse(element.dateTime))); };
/** Moves the focus among the rows with the keyboard. */
function moveFocus(element, event) {
    const rows = tables.get(pane).shown;
    const index = rows.indexOf(rowOf(element));
    const page = Math.max(1, Math.floor(scroller.clientHeight / rowHeight) - 2);
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -index, End: rows.length }[event.key];
    if (index < 0 || step === undefined) return;
    event.preventDefault();
    const row = rows[Math.max(0, Math.min(rows.length - 1, index + step))];
    if (!elements.has(row)) scroller.scrollTop = (rows.indexOf(row) - page / 2) * rowHeight;
    drawRows();
    opener(row)?.focus({ preventScroll: true });
    elements.get(row)?.scrollIntoView({ block: "nearest" });
}
/** Shows the rows in another order or with other words, from the top. */
function arrange(changes) {
    Object.assign(tables.get(pane) ?? {}, changes, { isStale: true });
    scroller.scrollTop = 0;
    drawTable();
    announce(`${$("#count").textContent} rows`);
}

// MARK: Details and actions
const detail = $("#detail");
// The targets that lead to what is shown.
let trail = [];
const answerOf = (request, failure) => request.then((response) => response.json()).catch(() => ({ error: failure }));
const follow = (target) => showDetail(detail.open ? [...trail, target] : [target]);
async function showDetail(targets) {
    trail = targets;
    const target = trail.at(-1);
    $("#detail-back").hidden = trail.length < 2;
    if (!detail.open) { setText($("#detail-title"), "Looking …"); $("#detail-lines").replaceChildren(); detail.showModal(); }
    const query = `container=${encodeURIComponent(own)}&target=${encodeURIComponent(target)}`;
    const answer = await answerOf(fetch(`/detail?${query}`), "The details cannot be read now.");
    if (trail !== targets) return;
    setText($("#detail-title"), answer.title ?? "No details");
    $("#detail-lines").replaceChildren(...(answer.lines ?? [{ pieces: [[answer.error ?? "", "red"]] }]).map(({ pieces, target: next }) => {
        const texts = pieces.map(([text, style]) => isolated(text, style));
        if (next === undefined || next === null) return make("p", {}, ...texts);
        return make("p", {}, make("button", { type: "button", class: "link", click: () => follow(next) }, ...texts));
    }));
    $("#detail-lines").scrollTop = 0;
    if (!detail.contains(document.activeElement)) (trail.length > 1 ? $("#detail-back") : $("#detail-close")).focus();
}

const actions = {
    pause: ["Pause", "pauses on this device: nothing goes up or comes down until you resume it."], resume: ["Resume", "goes on from now."],
    verify: ["Verify", "is read completely and checked. This can take a while, and changes nothing."], retry: ["Retry", "is tried again at once."],
    evict: ["Evict", "stays in the container; its bytes leave this device, and return on demand."], fetch: ["Fetch", "is downloaded to this device."],
};
let asked = null;
/** Makes a button that asks before it acts. */
function actionButton(action, subject, target) {
    const [title, sentence] = actions[action] ?? [action, "is changed."];
    const ask = () => {
        asked = { action, container: own, target };
        setText($("#confirm-title"), `${title}?`);
        $("#confirm-text").replaceChildren(isolated(subject, "bold"), ` ${sentence}`);
        $("#confirm-outcome").replaceChildren();
        setText($("#confirm-no"), "Cancel");
        Object.assign($("#confirm-yes"), { hidden: false, disabled: false, textContent: title });
        $("#confirm").showModal();
    };
    return make("button", { type: "button", "data-action": action, "aria-label": target && `${title} ${subject}`, click: ask }, title);
}

/** Performs the action that was asked for, and shows its outcome. */
async function perform() {
    const question = asked;
    $("#confirm-yes").disabled = true;
    const headers = { "Content-Type": "application/json", "X-Ubiquity": "1" };
    const request = fetch("/actions", { method: "POST", headers, body: JSON.stringify(question) });
    const { isDone, text, error, command: ran } = await answerOf(request, "The server did not answer. The action may have been performed.");
    // The dialog may hold another question by now.
    if (asked !== question) return;
    const outcome = make("p", { class: isDone ? "done" : "wrong" }, isolated(text ?? error ?? ""));
    $("#confirm-outcome").replaceChildren(outcome, ...(ran ? [make("p", { class: "faint" }, "The command was:"), command(ran)] : []));
    $("#confirm-yes").hidden = true;
    setText($("#confirm-no"), "Close");
    $("#confirm-no").focus();
}

// MARK: Listeners
/** Calls a function with the element, inside another, that an event hit. */
function on(root, name, selector, take) {
    root?.addEventListener(name, (event) => { if (event.target.closest(selector)) take(event.target.closest(selector), event); });
}

on($("#graph"), "click", "[data-span], [data-unit]", (button) => {
    Object.assign(choice, button.dataset);
    for (const other of button.parentNode.children) other.setAttribute("aria-pressed", other === button);
    drawGraph();
});
on($("#graph"), "pointermove", "svg", (svg, { clientX }) => {
    const { left, width } = svg.getBoundingClientRect();
    const bar = bars[Math.floor((clientX - left) / width * bars.length)];
    const words = (sign, at) => `${sign} ${size(bar.values[at])} in ${amount(bar.values[at + 1], "item")}`;
    if (bar) setText($("#graph-at"), `${new Date(bar.time * 1000).toLocaleTimeString()}: ${words("↑", 0)}, ${words("↓", 2)}`);
});
on($("#tabs"), "click", "[role=tab]", (tab) => choose(tab.dataset.pane));
on($("#tabs"), "keydown", "[role=tab]", (tab, event) => {
    const index = tabs.indexOf(tab);
    const next = tabs.at({ ArrowRight: (index + 1) % tabs.length, ArrowLeft: index - 1, Home: 0, End: -1 }[event.key] ?? index);
    if (next === tab) return;
    event.preventDefault();
    choose(next.dataset.pane);
    next.focus();
});
// A column sorts upwards, then downwards, then in the server's order.
on(scroller, "click", "[aria-sort]", ({ ariaSort, cellIndex: column }) =>
    arrange({ sort: ariaSort === "descending" ? null : { column, sign: ariaSort === "ascending" ? -1 : 1 } }));
on(body, "click", "tr.opens", (element, event) => {
    // The end of a selection of text is not a click.
    const isClick = event.detail === 0 || getSelection().isCollapsed;
    if (isClick && !event.target.closest("button:not(.open)")) follow(rowOf(element).target);
});
on(body, "keydown", "tr", moveFocus);
on(body, "focusin", "tr", (element) => { tables.get(pane).current = element.dataset.id; later(drawRows); });
scroller?.addEventListener("scroll", () => later(drawRows), { passive: true });
addEventListener("resize", () => { rowHeight = 0; later(drawRows); });
$("#filter")?.addEventListener("input", ({ target }) => arrange({ words: target.value }));
on(detail, "click", "#detail-back", () => showDetail(trail.slice(0, -1)));
on($("#confirm"), "click", "#confirm-yes", perform);
for (const dialog of [detail, $("#confirm")]) on(dialog, "click", ".close", () => dialog.close());

setInterval(() => {
    if (document.hidden) return;
    if (Date.now() - heard > 40_000) { lost(); connect(); }
    for (const drawing of [drawGraph, drawAges]) later(drawing);
}, 1000);
// A browser keeps few connections to a server, so a tab that nobody sees gives its own back.
document.addEventListener("visibilitychange", () => { if (document.hidden) source.close(); else connect(); });
drawTabs();
connect();
