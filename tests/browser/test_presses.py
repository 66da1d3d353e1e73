"""A press on a control reaches it, whatever arrives between press and release."""

from playwright.sync_api import Page, expect

from tests.browser.journeys import until

#: A part with a button; how often it was pressed.
PART = """() => {
  window.pressed = 0;
  document.querySelector("main").insertAdjacentHTML(
    "afterbegin", '<section id="asking"><button type="button">Cancel the work</button></section>');
  document.querySelector("#asking button").addEventListener("click", () => pressed++);
}"""
#: From now on it asks for itself every 100 ms, as a backtest that runs does; how often it was answered.
ASKING = """() => {
  window.answered = 0;
  const part = document.getElementById("asking");
  for (const [name, value] of Object.entries({ get: "/healthz", trigger: "every 100ms", swap: "outerHTML" }))
    part.setAttribute(`hx-${name}`, value);
  part.addEventListener("htmx:beforeSwap", () => answered++);
  htmx.process(part);
}"""
#: What a socket pushes, in its order.
PUSHED = """() => {
  window.heard = [];
  const socket = htmx.createWebSocket("/ws/inbox/");
  socket.addEventListener("message", ({ data }) => heard.push(data));
  window.push = (data) => socket.dispatchEvent(new MessageEvent("message", { data }));
}"""


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name).hover()
    page.mouse.down()


def test_a_refreshing_fragment_is_not_replaced_while_a_control_in_it_is_pressed(page: Page):
    page.goto("/account/")
    page.evaluate(PART)
    press(page, "Cancel the work")
    page.evaluate(ASKING)
    until(page, lambda: page.evaluate("answered > 0"), "it does not ask for itself")
    page.mouse.up()
    assert page.evaluate("pressed") == 1
    expect(page.get_by_role("button", name="Cancel the work")).to_have_count(0)


def test_pushed_updates_are_applied_in_order_after_the_press_ends(page: Page):
    page.goto("/account/")
    page.evaluate(PART)
    page.evaluate(PUSHED)
    page.evaluate("push('first')")
    assert "first" in page.evaluate("heard")
    press(page, "Cancel the work")
    page.evaluate("['second', 'third'].forEach(push)")
    page.wait_for_timeout(100)
    assert "second" not in page.evaluate("heard")
    page.mouse.move(0, 0)  # released elsewhere, it presses nothing
    page.mouse.up()
    until(page, lambda: page.evaluate("heard.includes('third')"), "it is not heard")
    # The page's own inbox may push its badge meanwhile.
    assert [word for word in page.evaluate("heard") if word in ("second", "third")] == ["second", "third"]
