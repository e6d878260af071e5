# Five days of a campaign in a test of your own: LINEPACE_API_KEY is a test key (svc_test_…), which reaches no carrier.
# Run it with `python test_sequence.py`, or with pytest.
import time
import unittest

from linepace import Linepace

DAY = 86_400
linepace = Linepace()


def advance(days: float) -> None:
    """Lets everything happen that is due until then, in its order and within the limits of the line."""
    clock = linepace.test_mode.move_test_clock(advanceSeconds=round(days * DAY))
    while clock["movingTo"] is not None:
        time.sleep(0.5)
        clock = linepace.test_mode.get_test_clock()


def sent_to(address: str) -> list[str]:
    sent = linepace.test_mode.list_test_sends(to=address)["sent"]
    return sorted(message["text"][:5] for message in sent)


class SequenceTest(unittest.TestCase):
    def test_a_lead_who_replies_on_the_third_day_gets_no_further_steps(self) -> None:
        linepace.test_mode.create_test_line(channelType="imessage")
        list_id = linepace.contacts.create_list(name="Prospects")["list"]["_id"]
        quiet, answers = "+14155550150", "+14155550151"
        linepace.contacts.create_leads(listId=list_id, leads=[{"phone": quiet}, {"phone": answers}])
        linepace.campaigns.create(
            name="Five days",
            listId=list_id,
            steps=[
                {"message": f"Day {index + 1} of our offer", "delay": {"days": days}}
                for index, days in enumerate([0, 1, 1, 1, 1])
            ],
            start=True,
        )

        advance(2.5)
        linepace.test_mode.test_inbound(**{"from": answers, "text": "Tell me more"})
        advance(4)

        self.assertEqual(sent_to(quiet), ["Day 1", "Day 2", "Day 3", "Day 4", "Day 5"])
        self.assertEqual(sent_to(answers), ["Day 1", "Day 2", "Day 3"])


if __name__ == "__main__":
    unittest.main()
