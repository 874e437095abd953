
"use strict";
const moments = JSON.parse(document.getElementById("moments").textContent);
const tip = document.getElementById("tip");
const add = (kind, text) => {
  const element = document.createElement("div");
  element.className = kind;
  element.textContent = text;
  tip.append(element);
};
const fill = ({when, numbers, moves}) => {
  tip.replaceChildren();
  add("when", when);
  for (const [what, value] of numbers) {
    add("what", what);
    add("value", value);
  }
  for (const [what, why] of moves) {
    add("move " + (what[0] === "↑" ? "up" : what[0] === "↓" ? "down" : ""), what);
    add("why", why);
  }
};
for (const picture of document.querySelectorAll(".picture")) {
  const rule = picture.querySelector(".rule");
  const [left, right] = [Number(picture.dataset.left), Number(picture.dataset.right)];
  let shown = -1;
  const hide = () => { tip.hidden = rule.hidden = true; };
  const show = (index, y) => {
    if (!moments.length) return;
    shown = Math.max(0, Math.min(moments.length - 1, index));
    const {from, until} = moments[shown];
    const box = picture.getBoundingClientRect();
    const x = (left + (right - left) * (from + until) / 2) * box.width;
    rule.style.left = x + "px";
    rule.hidden = tip.hidden = false;
    fill(moments[shown]);
    const over = box.left + x > innerWidth / 2;
    const at = over ? box.left + x - tip.offsetWidth - 12 : box.left + x + 12;
    tip.style.left = Math.max(8, Math.min(innerWidth - tip.offsetWidth - 8, at)) + "px";
    tip.style.top = Math.max(8, Math.min(innerHeight - tip.offsetHeight - 8, y + 12)) + "px";
  };
  const point = (event) => {
    const box = picture.getBoundingClientRect();
    const part = ((event.clientX - box.left) / box.width - left) / (right - left);
    const index = moments.findIndex(({until}) => part < until);
    show(index < 0 ? moments.length - 1 : index, event.clientY);
  };
  picture.addEventListener("pointermove", point);
  picture.addEventListener("pointerdown", point);
  picture.addEventListener("pointerleave", hide);
  picture.addEventListener("blur", hide);
  picture.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (event.key === "Escape") hide();
    if (!step) return;
    event.preventDefault();
    show(shown + step, Math.max(0, picture.getBoundingClientRect().top));
  });
}
