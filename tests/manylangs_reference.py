"""ELMoForManyLangs in NumPy, float64, word by word and step by step, from its file format alone.

It reads weights by their names in the state dicts, and shares no code with the package.
"""

import numpy as np
from reference import sigmoid


def numbers(entries):
    return {entry: number for number, entry in enumerate(entries)}


class ManyLangsReference:
    """A model as its architecture (a dict), the lines of its dictionaries, and a dict of arrays."""

    def __init__(self, architecture, characters, words, weights):
        self.lstm, self.cnn = architecture["encoder"], architecture["token_embedder"]
        self.characters, self.words = numbers(characters), numbers(words or [])
        self.weights = {name: np.asarray(array, np.float64) for name, array in weights.items()}

    def row(self, word):
        """The numbers of a word's characters, and of the word, which is cut already."""
        most = self.cnn["max_characters_per_token"]
        number = self.characters.get
        body = [number(word)] if word in ("<bos>", "<eos>") else []
        body = body or [number(c, number("<oov>")) for c in word]
        row = [number("<eow>"), *body, number("<bow>")]
        row += [number("<pad>")] * (most - len(row))
        return row, self.words.get(word, self.words.get("<oov>"))

    def token_embedding(self, word):
        row, number = self.row(word)
        table = self.weights["char_emb_layer.embedding.weight"][row]  # (characters, dim)
        parts = []
        for i, (width, _) in enumerate(self.cnn["filters"]):
            kernel = self.weights[f"convolutions.{i}.weight"]  # (count, dim, width)
            windows = [table[k : k + width].T for k in range(len(row) - width + 1)]
            values = [np.tensordot(kernel, window, 2) for window in windows]
            parts.append(np.max(values, axis=0) + self.weights[f"convolutions.{i}.bias"])
        x = np.concatenate(parts)
        x = np.maximum(x, 0) if self.cnn["activation"] == "relu" else np.tanh(x)
        for i in range(self.cnn["n_highway"]):
            weight = self.weights[f"highways._layers.{i}.weight"]
            both = weight @ x + self.weights[f"highways._layers.{i}.bias"]
            transformed, gate = np.split(both, 2)
            gate = sigmoid(gate)
            x = gate * x + (1 - gate) * np.maximum(transformed, 0)
        if self.cnn["word_dim"]:
            x = np.concatenate([self.weights["word_emb_layer.embedding.weight"][number], x])
        return self.weights["projection.weight"] @ x + self.weights["projection.bias"]

    def direction(self, name, inputs):
        kernel = self.weights[f"{name}.input_linearity.weight"]
        recurrent_kernel = self.weights[f"{name}.state_linearity.weight"]
        bias = self.weights[f"{name}.state_linearity.bias"]
        projection = self.weights[f"{name}.state_projection.weight"]
        m, c = np.zeros(self.lstm["projection_dim"]), np.zeros(self.lstm["dim"])
        outputs = []
        for x in inputs:
            i, f, g, o = np.split(kernel @ x + recurrent_kernel @ m + bias, 4)
            c = sigmoid(i) * np.tanh(g) + sigmoid(f) * c
            if self.lstm["cell_clip"]:
                c = np.clip(c, -self.lstm["cell_clip"], self.lstm["cell_clip"])
            m = projection @ (sigmoid(o) * np.tanh(c))
            if self.lstm["proj_clip"]:
                m = np.clip(m, -self.lstm["proj_clip"], self.lstm["proj_clip"])
            outputs.append(m)
        return np.stack(outputs)

    def sentence(self, words):
        """Every layer for a sentence: (n_layers + 1, tokens, 2 * projection_dim)."""
        room = self.cnn["max_characters_per_token"] - 2
        # The original cuts the words of a text, and not the boundaries that it adds. What is then
        # "<bos>" is a boundary, too.
        words = ["<bos>", *(word[:room] for word in words), "<eos>"]
        tokens = np.stack([self.token_embedding(word) for word in words])
        forward, backward = tokens, tokens[::-1]
        layers = [np.concatenate([tokens, tokens], -1)]
        for k in range(self.lstm["n_layers"]):
            skipped = (forward, backward) if k else (0, 0)
            forward = self.direction(f"forward_layer_{k}", forward) + skipped[0]
            backward = self.direction(f"backward_layer_{k}", backward) + skipped[1]
            layers.append(np.concatenate([forward, backward[::-1]], -1))
        return np.stack(layers)[:, 1:-1]
