"""ELMo in NumPy, float64, word by word and step by step, from the file format alone.

It reads weights by their dataset names and follows the arithmetic of the original's formats; it
shares no code with the package.
"""

import numpy as np


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def character_ids(word, max_characters):
    data = (word if isinstance(word, bytes) else word.encode())[: max_characters - 2]
    row = [259, *(byte + 1 for byte in data), 260]
    return row + [261] * (max_characters - len(row))


def boundary(character, max_characters):
    return [259, character, 260] + [261] * (max_characters - 3)


class Reference:
    """A model as a dict of options and a dict of arrays, by dataset name."""

    def __init__(self, options, weights):
        self.lstm, self.cnn = options["lstm"], options["char_cnn"]
        self.weights = {name: np.asarray(array, np.float64) for name, array in weights.items()}

    def token_embedding(self, ids):
        table = self.weights["char_embed"]
        table = np.concatenate([np.zeros_like(table[:1]), table])
        characters = table[np.asarray(ids)]  # (characters, dim)
        parts = []
        for i, (width, _) in enumerate(self.cnn["filters"]):
            kernel = self.weights[f"CNN/W_cnn_{i}"][0]  # (width, dim, count)
            windows = [
                np.tensordot(characters[start : start + width], kernel, 2)
                for start in range(len(ids) - width + 1)
            ]
            parts.append(np.max(windows, axis=0) + self.weights[f"CNN/b_cnn_{i}"])
        x = np.concatenate(parts)
        x = np.maximum(x, 0) if self.cnn["activation"] == "relu" else np.tanh(x)
        for i in range(self.cnn.get("n_highway", 0)):
            w = {
                name: self.weights[f"CNN_high_{i}/{name}"]
                for name in ("W_carry", "b_carry", "W_transform", "b_transform")
            }
            gate = sigmoid(x @ w["W_carry"] + w["b_carry"])
            x = gate * np.maximum(x @ w["W_transform"] + w["b_transform"], 0) + (1 - gate) * x
        if "CNN_proj/W_proj" in self.weights:
            x = x @ self.weights["CNN_proj/W_proj"] + self.weights["CNN_proj/b_proj"]
        return x

    def direction(self, number, layer, inputs, state=None):
        """One direction of one layer over a sequence already in its order of reading."""
        prefix = f"RNN_{number}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"
        kernel, bias = self.weights[f"{prefix}/W_0"], self.weights[f"{prefix}/B"]
        projection = self.weights.get(f"{prefix}/W_P_0")
        units, size = self.lstm["dim"], self.lstm["projection_dim"]
        m, c = (np.zeros(size), np.zeros(units)) if state is None else state
        outputs = []
        for x in inputs:
            i, j, f, o = np.split(np.concatenate([x, m]) @ kernel + bias, 4)
            c = sigmoid(f + 1) * c + sigmoid(i) * np.tanh(j)
            if self.lstm.get("cell_clip"):
                c = np.clip(c, -self.lstm["cell_clip"], self.lstm["cell_clip"])
            m = sigmoid(o) * np.tanh(c)
            if projection is not None:
                m = m @ projection
                if self.lstm.get("proj_clip"):
                    m = np.clip(m, -self.lstm["proj_clip"], self.lstm["proj_clip"])
            outputs.append(m)
        return np.reshape(outputs, (len(inputs), size)), (m, c)

    def layers(self, tokens):
        """(tokens, projection_dim) -> (num_layers + 1, tokens, 2 * projection_dim)."""
        forward, backward = tokens, tokens[::-1]
        results = [np.concatenate([forward, backward[::-1]], -1)]
        for layer in range(self.lstm["n_layers"]):
            new_forward, _ = self.direction(0, layer, forward)
            new_backward, _ = self.direction(1, layer, backward)
            if layer > 0 and self.lstm.get("use_skip_connections"):
                new_forward, new_backward = new_forward + forward, new_backward + backward
            forward, backward = new_forward, new_backward
            results.append(np.concatenate([forward, backward[::-1]], -1))
        return np.stack(results)

    def sentence(self, words):
        """Every layer for a sentence, without its boundaries."""
        most = self.cnn["max_characters_per_token"]
        rows = [boundary(257, most), *(character_ids(w, most) for w in words), boundary(258, most)]
        return self.layers(np.stack([self.token_embedding(row) for row in rows]))[:, 1:-1]
