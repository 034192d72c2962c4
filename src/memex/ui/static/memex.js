// What pages do beyond HTML. Everything can be read without it.
"use strict";

(() => {
  const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });
  const two = (number) => String(number).padStart(2, "0");

  // As the server writes them, such as 2026-11-22 14:30, but in the zone of the reader.
  function shown(moment, isDay) {
    const day = `${moment.getFullYear()}-${two(moment.getMonth() + 1)}-${two(moment.getDate())}`;
    return isDay ? day : `${day} ${two(moment.getHours())}:${two(moment.getMinutes())}`;
  }

  // Put the times of a part of the page into the zone of the reader.
  function localize(part) {
    for (const element of part.querySelectorAll("time[datetime]")) {
      const moment = new Date(element.dateTime);
      if (Number.isNaN(moment.getTime())) continue;
      element.title = exact.format(moment);
      element.textContent = shown(moment, "day" in element.dataset);
    }
  }

  const isTyping = (target) => target.closest("input:not([type=checkbox]), textarea, select, [contenteditable]") !== null;
  let isGoing = false;

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    if (document.querySelector("dialog[open]")) return;
    if (isGoing) {
      isGoing = false;
      const entry = document.querySelector(`a[data-shortcut="${CSS.escape(event.key)}"]`);
      if (entry) entry.click();
    } else if (event.key === "g") {
      isGoing = true;
    } else if (event.key === "/") {
      const search = document.querySelector('input[type="search"]');
      if (search) {
        event.preventDefault();
        search.focus();
      } else {
        document.querySelector('a[data-shortcut="s"]')?.click();
      }
    } else if (event.key === "?") {
      document.getElementById("keys")?.showModal();
    } else {
      review(event.key);
    }
  });

  // The review: j and k move between its items, and the letter of a button or link is its key.
  function review(key) {
    const items = [...document.querySelectorAll(".review-item")];
    const at = items.indexOf(document.activeElement.closest(".review-item"));
    const press = (part, selector) => part?.querySelector(selector)?.click();
    if (key === "j" || key === "k") items[key === "j" ? Math.min(at + 1, items.length - 1) : Math.max(at - 1, 0)]?.focus();
    else if (key === "u") press(document, "[data-review-undo]");
    else if (key === "x") press(items[at], "input[type=checkbox]");
    else if (["a", "r", "e"].includes(key)) press(items[at], `[data-key="${key}"]`);
    else if (["A", "R"].includes(key)) press(document, `.review-bar [data-key="${key}"]`);
  }

  // One box ticks all items of its section.
  for (const box of document.querySelectorAll("[data-tick-all]")) {
    box.parentElement.hidden = false;
    box.addEventListener("change", () => {
      for (const item of box.closest("section").querySelectorAll(".review-item input[type=checkbox]")) item.checked = box.checked;
    });
  }

  // A form with data-confirm asks first.
  document.addEventListener("submit", (event) => {
    const question = event.target.dataset.confirm;
    if (question && !window.confirm(question)) event.preventDefault();
  });

  // A form with data-progress is sent in the background: first the part that is sent is shown, then the files that
  // are done, as the lines of the answer say. At last the browser goes where the last line says.
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (event.defaultPrevented || !form.dataset.progress) return;
    event.preventDefault();
    const area = form.querySelector("[data-progress-area]");
    const text = form.querySelector("[data-progress-text]");
    const bar = form.querySelector("progress");
    const say = (words, share) => {
      area.hidden = false;
      if (text.textContent !== words) text.textContent = words;
      if (share === null) bar.removeAttribute("value");
      else bar.value = share;
    };
    for (const input of form.querySelectorAll("[data-max-bytes]")) {
      const most = Number(input.dataset.maxBytes);
      if ([...input.files].some((file) => file.size > most)) {
        say(`The file is larger than ${most / 1048576} MiB. ${form.dataset.tooLarge}`, 0);
        return;
      }
    }
    const sent = new FormData(form, event.submitter);
    const buttons = form.querySelectorAll("button");
    const enable = (isOn) => buttons.forEach((button) => { button.disabled = !isOn; });
    const request = new XMLHttpRequest();
    let read = 0;
    let isDone = false;
    const show = (html) => {
      const main = document.querySelector("main");
      const shown = new DOMParser().parseFromString(html, "text/html").querySelector("main");
      main.replaceChildren(...shown.childNodes);
      localize(main);
      main.focus();
    };
    const take = () => {
      const end = request.responseText.lastIndexOf("\n");
      for (const line of request.responseText.slice(read, Math.max(end, read)).split("\n").filter(Boolean)) {
        const said = JSON.parse(line);
        if (said.location) {
          enable(true);  // for who comes back
          window.location.assign(said.location);
        }
        else if (said.page) show(said.page);
        else say(`${said.done} of ${said.total} files are done.`, said.total ? (100 * said.done) / said.total : null);
        isDone = isDone || Boolean(said.location || said.page);
      }
      read = Math.max(end, read);
    };
    const isLines = () => (request.getResponseHeader("content-type") || "").startsWith("application/x-ndjson");
    request.upload.addEventListener("progress", (sending) => {
      const share = sending.lengthComputable ? Math.floor((10 * sending.loaded) / sending.total) * 10 : 0;
      say(share < 100 ? `${share} % are sent.` : "The file is sent, and is read now.", share < 100 ? share : null);
    });
    request.addEventListener("progress", () => isLines() && take());
    request.addEventListener("load", () => {
      if (isLines()) take();
      else if (request.responseURL && request.responseURL.includes("/ui/sign-in")) window.location.assign(request.responseURL);
      else show(request.responseText);
    });
    request.addEventListener("loadend", () => {
      if (isLines() ? isDone : request.status) return;
      say("The connection was lost. Import the file again: what is stored already stays the same.", 0);
      enable(true);
    });
    request.open("POST", form.action);
    request.setRequestHeader(form.dataset.progress, "lines");
    enable(false);
    request.send(sent);
  });

  // A slider with data-submit sends its form when it is let go.
  document.addEventListener("change", (event) => {
    if (event.target.matches("[data-submit]")) event.target.form.requestSubmit();
  });

  // A slider with data-slides moves through the choices of a list, whose first choice, none, is its right end.
  for (const slider of document.querySelectorAll("[data-slides]")) {
    const list = document.querySelector(slider.dataset.slides);
    const last = Number(slider.max);
    const date = list.form.querySelector("[name=as_of]");
    const follow = () => {
      slider.value = list.selectedIndex === 0 ? last : list.selectedIndex;
      slider.setAttribute("aria-valuetext", list.options[list.selectedIndex].text);
    };
    slider.closest("label").hidden = false;
    slider.addEventListener("input", () => {
      date.value = "";
      list.selectedIndex = Number(slider.value) === last ? 0 : Number(slider.value);
      slider.setAttribute("aria-valuetext", list.options[list.selectedIndex].text);
    });
    list.addEventListener("change", () => {
      date.value = "";
      follow();
    });
    date.addEventListener("change", () => {
      list.selectedIndex = 0;
      follow();
    });
    follow();
  }

  // A menu closes when something else is clicked, or with Escape.
  document.addEventListener("click", (event) => {
    for (const menu of document.querySelectorAll("details.account[open]")) {
      if (!menu.contains(event.target)) menu.open = false;
    }
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    for (const menu of document.querySelectorAll("details.account[open]")) menu.open = false;
  });

  // A live list asks for itself again when a stream says so; where there is no stream for it, every few seconds.
  const list = document.querySelector("[data-live]");
  if (list) {
    const refresh = () => list.dispatchEvent(new Event("refresh"));
    const stream = new EventSource(list.dataset.live);
    stream.addEventListener("calls", refresh);
    stream.addEventListener("error", () => {
      if (stream.readyState === EventSource.CLOSED) window.setInterval(refresh, 5000);
    });
    window.addEventListener("pagehide", () => stream.close());
  }

  // Lines over time, drawn beside the tables that say the same.
  const draw = (chart) => {
    const { times, lines } = JSON.parse(chart.dataset.lines);
    if (chart.firstChild || times.length < 2) return;
    chart.parentElement.hidden = false;
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name).trim();
    const axis = { stroke: colour("--text"), grid: { stroke: colour("--line") }, ticks: { stroke: colour("--line") } };
    const range = chart.dataset.range === "auto" ? (_, __, most) => [0, Math.max(1, most * 1.1)] : [0, 100];
    const plot = new window.uPlot(
      {
        width: chart.clientWidth,
        height: 240,
        cursor: { show: false },
        legend: { live: false },
        scales: { y: { range } },
        axes: [axis, axis],
        series: [{ label: chart.dataset.label || "Run" }, ...lines.map((line, at) => ({
          label: line.label, stroke: colour(`--line-${at + 1}`), width: 2, spanGaps: true, points: { show: true },
        }))],
      },
      [times, ...lines.map((line) => line.values)],
      chart,
    );
    const resize = () => {
      if (chart.isConnected) plot.setSize({ width: chart.clientWidth, height: 240 });
      else window.removeEventListener("resize", resize);
    };
    window.addEventListener("resize", resize);
  };
  const drawAll = () => window.uPlot && document.querySelectorAll("[data-lines]").forEach(draw);
  drawAll();

  // A button with data-copy copies the text of a field; where a page may not, it selects the text.
  function offerCopies() {
    for (const button of document.querySelectorAll("[data-copy]")) button.hidden = false;
  }
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    const field = document.querySelector(button.dataset.copy);
    field.select();
    let said = "The text is selected.";
    try {
      await navigator.clipboard.writeText(field.value);
      said = "Copied.";
    } catch {
      // Only pages over https or on this machine may write to the clipboard.
    }
    const status = document.getElementById("said");
    if (status) status.textContent = said;
    button.lastChild.textContent = ` ${said}`;
  });

  // What a part of the page says in short is read out; the part itself is too long for that.
  function say() {
    const said = document.querySelector("[data-said]");
    const status = document.getElementById("said");
    if (said && status) status.textContent = said.textContent.replace(/\s+/g, " ").trim();
  }

  localize(document);
  offerCopies();
  document.addEventListener("htmx:after:swap", () => {
    localize(document);
    drawAll();
    offerCopies();
    say();
  });
})();
