"""History in, next round out: strategies, and the loop a person can take apart."""

from workbench.search.asking import Cancelled
from workbench.search.beam import Beam
from workbench.search.loop import Search
from workbench.search.recorded import Recorded
from workbench.search.strategy import Strategy

__all__ = ["Search", "Beam", "Strategy", "Recorded", "Cancelled"]
