// The page: reads the sentences, runs the model on them, and draws the matrices.

import { splitWords } from "./characters.js";
import { cosine, Elmo } from "./elmo.js";

const TYPING_PAUSE = 300; // milliseconds

const [textarea, button, status, problem, results, select, list, matrices] = [
  "sentences", "start", "status", "problem", "results", "word", "occurrences", "layers",
].map((id) => document.getElementById(id));

let elmo;
let sentences = []; // {words, layers, milliseconds} of each line
let known = new Map(); // the same by the line, so that only a changed line is computed

function element(name, text = "", attributes = {}) {
  const node = document.createElement(name);
  node.textContent = text;
  Object.entries(attributes).forEach(([key, value]) => node.setAttribute(key, value));
  return node;
}

/** The words that occur more than once: first those in the most sentences, of these the longest. */
function repeatedWords() {
  const counts = new Map();
  for (const { words } of sentences) {
    for (const word of words) {
      const count = counts.get(word) ?? { occurrences: 0, sentences: 0 };
      count.occurrences += 1;
      counts.set(word, count);
    }
    new Set(words).forEach((word) => (counts.get(word).sentences += 1));
  }
  return [...counts]
    .filter(([, count]) => count.occurrences > 1)
    .sort(
      ([word, count], [other, otherCount]) =>
        otherCount.sentences - count.sentences || other.length - word.length,
    )
    .map(([word]) => word);
}

/** The occurrences of a word: {words, index, vectors}, with one vector of each layer. */
function findOccurrences(word) {
  return sentences.flatMap(({ words, layers }) =>
    words.flatMap((each, index) =>
      each === word ? [{ words, index, vectors: layers.map((layer) => layer[index]) }] : [],
    ),
  );
}

/** An occurrence in its sentence, with the word marked. */
function sentenceItem({ words, index }) {
  const item = element("li");
  item.append(
    words.slice(0, index).join(" "), " ",
    element("mark", words[index]), " ",
    words.slice(index + 1).join(" "),
  );
  return item;
}

/** The number of an occurrence, and the word between its neighbours. */
function rowLabel({ words, index }, number) {
  return `${number} ${words.slice(Math.max(index - 1, 0), index + 2).join(" ")}`;
}

/** The table of cosines of one layer. */
function matrix(occurrences, layer) {
  const table = element("table");
  const name = layer === 0 ? "Layer 0: the word alone" : `Layer ${layer}`;
  table.append(element("caption", name));
  const head = table.createTHead().insertRow();
  head.append(element("td", "", { class: "corner" }));
  occurrences.forEach((_, column) => head.append(element("th", column + 1, { scope: "col" })));
  const body = table.createTBody();
  occurrences.forEach((one, row) => {
    const cells = body.insertRow();
    const label = rowLabel(one, row + 1);
    cells.append(element("th", label, { scope: "row", title: label }));
    for (const other of occurrences) {
      const value = cosine(one.vectors[layer], other.vectors[layer]);
      const color = Math.min(Math.max(value, 0), 1);
      cells.append(element("td", value.toFixed(2), { style: `--cosine: ${color}` }));
    }
  });
  const frame = element("div", "", { class: "matrix" });
  frame.append(table);
  return frame;
}

function drawWord() {
  const occurrences = findOccurrences(select.value);
  list.replaceChildren(...occurrences.map(sentenceItem));
  const vectors = occurrences[0]?.vectors ?? [];
  matrices.replaceChildren(...vectors.map((_, layer) => matrix(occurrences, layer)));
}

function draw() {
  const words = repeatedWords();
  const chosen = select.value;
  select.replaceChildren(...words.map((word) => element("option", word, { value: word })));
  if (words.includes(chosen)) {
    select.value = chosen;
  }
  results.hidden = words.length === 0;
  const times = sentences.map(({ milliseconds }) => milliseconds.toFixed(1)).join(", ");
  status.textContent =
    sentences.length === 0
      ? "There is no sentence yet."
      : `Each sentence took, in milliseconds: ${times}.`;
  if (words.length === 0) {
    status.textContent += " Write a word in two sentences to compare its vectors.";
  }
  drawWord();
}

async function embedLine(line) {
  const words = splitWords(line);
  const start = performance.now();
  const layers = await elmo.embed(words);
  return { words, layers, milliseconds: performance.now() - start };
}

/** Embeds the lines of the text, and shows them. Lines that are too long are left out. */
async function update() {
  const text = textarea.value;
  const problems = [];
  const embedded = [];
  for (const [index, line] of text.split("\n").entries()) {
    if (text !== textarea.value) {
      return; // somebody went on typing, and another update follows
    }
    if (splitWords(line).length === 0) {
      continue;
    }
    try {
      embedded.push([line, known.get(line) ?? (await embedLine(line))]);
    } catch (error) {
      problems.push(`Line ${index + 1} is left out. ${error.message}`);
    }
  }
  if (text !== textarea.value) {
    return;
  }
  known = new Map(embedded);
  sentences = embedded.map(([, sentence]) => sentence);
  problem.textContent = problems.join(" ");
  draw();
}

async function start() {
  button.hidden = true;
  status.textContent = "Loading the model and LiteRT.js ...";
  let timer;
  try {
    elmo = await Elmo.load("elmo.tflite", "litert/wasm", (bytes) => {
      const megabytes = (bytes / 1e6).toFixed(1);
      status.textContent = `Loading ${megabytes} MB of the model, and LiteRT.js ...`;
    });
    textarea.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(update, TYPING_PAUSE);
    });
    select.addEventListener("change", drawWord);
    await update();
  } catch (error) {
    status.textContent = "";
    problem.textContent = `The model could not be loaded. ${error.message ?? error}`;
  }
}

// Inside another page of the site, the frame is as high as its contents, has that page's colour
// scheme, and loads nothing until somebody asks for it.
const frame = window.frameElement;
if (frame) {
  new ResizeObserver(() => {
    frame.style.height = `${document.body.offsetHeight + 2}px`; // 2 for the border
  }).observe(document.body);
  const site = frame.ownerDocument.body;
  const followScheme = () => {
    document.documentElement.style.colorScheme = getComputedStyle(site).colorScheme;
  };
  new MutationObserver(followScheme).observe(site, { attributes: true });
  followScheme();
  status.textContent = "";
  button.hidden = false;
  button.addEventListener("click", start);
} else {
  start();
}
