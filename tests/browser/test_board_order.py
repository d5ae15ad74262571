"""U2: people order the cards of a column by pointer and by keys, and the order is kept."""

from playwright.sync_api import expect

from support.person import wait_for


def titles(page, column="To do"):
    return page.get_by_role("region", name=column).locator(".card .title")


def names(page, column="To do"):
    return [text.removeprefix("▲").strip() for text in titles(page, column).all_inner_texts()]


def card(page, title):
    return page.locator(".card", has_text=title)


def drag(page, title, onto, part):
    """To the upper or the lower part of another card."""
    page.mouse.move(*middle(card(page, title)))
    page.mouse.down()
    box = card(page, onto).bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] * part
    page.mouse.move(x, y - 20, steps=4)
    page.mouse.move(x, y, steps=4)
    page.mouse.up()


def middle(place):
    box = place.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_u2_cards_are_ordered_by_dragging_and_start_in_that_order(scene, visit):
    page = visit().page("board")
    expect(titles(page)).to_have_count(4)
    first, second, third, fourth = names(page)

    drag(page, fourth, onto=second, part=0.1)
    wanted = [first, fourth, second, third]
    for place, title in enumerate(wanted):
        expect(titles(page).nth(place)).to_contain_text(title)
    page.reload()

    for place, title in enumerate(wanted):
        expect(titles(page).nth(place)).to_contain_text(title)
    tasks = {task["title"]: task["pin"] for task in scene.tasks()}
    assert tasks[first] > tasks[fourth] > tasks[second] == tasks[third] == 0


def test_u5_a_card_is_moved_with_keys_alone(scene, visit):
    page = visit().page("board")
    expect(titles(page)).to_have_count(4)
    last = scene.id_of(names(page)[3])
    page.locator(f"#card-{last}").focus()

    page.keyboard.press("K")
    wait_for(lambda: scene.ask(f"/tasks/{last}")["pin"], "its place")

    expect(titles(page).nth(2).locator("xpath=..")).to_have_id(f"card-{last}")
    page.keyboard.press("J")
    expect(titles(page).nth(3).locator("xpath=..")).to_have_id(f"card-{last}")


def test_u2_needs_you_can_be_ordered_and_a_drag_to_running_starts(scene, visit):
    page = visit().page("board")
    column = "Needs you"
    expect(titles(page, column)).to_have_count(3)
    first, _, third = names(page, column)

    drag(page, third, onto=first, part=0.1)

    expect(titles(page, column).nth(0)).to_contain_text(third)
    title = names(page)[3]
    drag(page, title, onto="Retry webhooks", part=0.5)
    wait_for(lambda: scene.ask(f"/tasks/{scene.id_of(title)}")["assigned"], "it to be started")


def test_u3_stream_updates_of_the_board_need_no_request(scene, visit):
    page = visit().page("board")
    page.get_by_role("region", name="To do").get_by_role("listitem").first.wait_for()
    asked = []
    page.on("request", lambda request: asked.append(request.url))

    scene.add(("Heard of by the stream alone", "ui", "audit"))

    expect(page.get_by_text("Heard of by the stream alone")).to_be_visible()
    assert [url for url in asked if "/board" in url] == []
