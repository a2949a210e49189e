"""What the plots share."""

HEAD_PT = 10.5
COLOURS = ("#1f5fbf", "#d97706", "#6b7280", "#a3b18a")  # of lines and bars; apart in grey too


def pyplot():
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as module

    return module


def quiet(axes, along):
    """Take away what says nothing."""
    for side in ("top", "right", "left" if along == "y" else "bottom"):
        axes.spines[side].set_visible(False)
    axes.grid(True, axis=along, alpha=0.3)
    axes.tick_params(axis=along, length=0)
    axes.set_axisbelow(True)
