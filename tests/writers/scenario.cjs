// Documents and changes out of a seed, the same for every library.
"use strict";

function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const WORDS = (
  "amber brass cedar delta ember flint grove hazel ivory jade kelp lotus maple north olive pearl quartz reed slate " +
  "thorn umber vale willow yarrow zinc größe naïve 東京"
).split(" ");

class Scenario {
  constructor(seed) {
    this.random = random(seed);
    this.lines = 0;
  }

  int(below) {
    return Math.floor(this.random() * below);
  }

  pick(from) {
    return from[this.int(from.length)];
  }

  words(count) {
    return Array.from({ length: count }, () => this.pick(WORDS)).join(" ");
  }

  date() {
    return new Date(Date.UTC(2020 + this.int(6), this.int(12), 1 + this.int(28), this.int(24), this.int(60), this.int(60), this.int(1000)));
  }

  line() {
    this.lines += 1;
    return { sku: `S-${this.lines}`, qty: 1 + this.int(9), note: this.words(2) };
  }

  first() {
    return {
      title: this.words(3),
      price: 10 + this.int(1000) / 4,
      stock: this.int(50),
      active: this.random() < 0.5,
      due: this.date(),
      tags: [this.pick(WORDS), this.pick(WORDS)],
      address: { street: this.words(2), city: this.pick(WORDS) },
      lines: [this.line(), this.line(), this.line()],
      text: this.words(40),
    };
  }

  // Changes one to three fields of a plain state, in place.
  change(state) {
    for (let left = 1 + this.int(3); left > 0; left--) {
      const at = this.int(state.lines.length);
      const words = state.text.split(" ");
      const changes = [
        () => (state.title = this.words(3)),
        () => (state.price = 10 + this.int(1000) / 4),
        () => (state.stock = state.stock + 1 + this.int(5)),
        () => (state.active = !state.active),
        () => (state.due = this.date()),
        () => (state.tags = [...state.tags, this.pick(WORDS)]),
        () => (state.tags = state.tags.slice(1)),
        () => (state.address = { ...state.address, city: this.pick(WORDS) }),
        () => (state.lines = [...state.lines, this.line()]),
        () => (state.lines = state.lines.length > 1 ? state.lines.filter((_, each) => each !== at) : state.lines),
        () => (state.lines = [...state.lines.slice(1), ...state.lines.slice(0, 1)]),
        () => (state.text = words.map((word, each) => (each === at ? this.pick(WORDS) : word)).join(" ")),
      ];
      this.pick(changes)();
    }
    return state;
  }
}

const setting = (name, otherwise) => Number(process.env[name] || otherwise);

module.exports = { Scenario, COUNT: setting("COUNT", 12), STATES: setting("STATES", 20), SEED: setting("SEED", 7) };
