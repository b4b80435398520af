"""A data function each, drawn twice: plotly on screen, matplotlib in print."""

from workbench.figures.categories import categories, categories_data
from workbench.figures.comparison import comparison, comparison_data
from workbench.figures.figure import Figure
from workbench.figures.lineage import lineage, lineage_data
from workbench.figures.trajectory import trajectory, trajectory_data

__all__ = [
    "Figure",
    "categories",
    "categories_data",
    "comparison",
    "comparison_data",
    "lineage",
    "lineage_data",
    "trajectory",
    "trajectory_data",
]
