// A TFLite file of `keras-elmo tflite --max-tokens N`, run by LiteRT.js.

import { loadAndCompile, loadLiteRt, Tensor } from "@litertjs/core";
import { characterIds } from "./characters.js";

export class Elmo {
  /**
   * Loads LiteRT.js and a model.
   *
   * LiteRT.js takes its WebAssembly without threads here. Threads would need a server that sends
   * the headers of cross-origin isolation.
   *
   * @param url of the TFLite file.
   * @param litertFolder the URL of the folder with LiteRT.js's WebAssembly.
   * @param onSize called with the size of the TFLite file in bytes before it is received, if the
   *     server tells it.
   */
  static async load(url, litertFolder, onSize) {
    const response = await fetch(url);
    if (!response.ok) {
      throw new Error(`The server answered ${response.status} for ${url}.`);
    }
    const size = Number(response.headers.get("Content-Length"));
    if (size > 0) {
      onSize(size);
    }
    const [file] = await Promise.all([response.arrayBuffer(), loadLiteRt(litertFolder)]);
    return new Elmo(await loadAndCompile(new Uint8Array(file), { accelerator: "wasm" }));
  }

  constructor(model) {
    this.model = model;
    this.lastRun = Promise.resolve();
    const [input] = model.getInputDetails();
    [, this.maxTokens, this.maxCharacters] = input.shape;
  }

  /**
   * The vectors of a sentence's words in each layer: layers[layer][word] is a Float32Array.
   *
   * Calls wait for each other, since a WebAssembly instance can run one at a time.
   *
   * @param words array of strings, at most maxTokens.
   */
  embed(words) {
    const run = this.lastRun.then(() => this.run(words));
    this.lastRun = run.catch(() => {});
    return run;
  }

  async run(words) {
    const shape = [1, this.maxTokens, this.maxCharacters];
    const input = new Tensor(characterIds(words, this.maxTokens, this.maxCharacters), shape);
    const outputs = await this.model.run({ character_ids: input });
    const names = ["word_emb"];
    while (`lstm_outputs${names.length}` in outputs) {
      names.push(`lstm_outputs${names.length}`);
    }
    const layers = names.map((name) => {
      const values = outputs[name].toTypedArray();
      const width = values.length / this.maxTokens;
      return words.map((_, index) => values.slice(index * width, (index + 1) * width));
    });
    // LiteRT.js leaves the memory of tensors to its caller.
    [input, ...Object.values(outputs)].forEach((tensor) => tensor.delete());
    return layers;
  }
}

/** The cosine of two vectors. */
export function cosine(one, other) {
  let product = 0;
  let squares = 0;
  let otherSquares = 0;
  one.forEach((value, index) => {
    product += value * other[index];
    squares += value * value;
    otherSquares += other[index] * other[index];
  });
  return product / Math.sqrt(squares * otherSquares);
}
