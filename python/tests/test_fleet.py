"""Fleets: hosts with snapshots, on one machine and on a cluster."""

import shutil

import fsage
import pytest

FILES = ["hosts.parquet", "days.parquet", "fleet.json", "fleet.html"]


@pytest.fixture(scope="module")
def snapshots(tmp_path_factory):
    """Three hosts: two that lived the same life, and one with larger files on a smaller disk."""
    folder = tmp_path_factory.mktemp("hosts")
    for host, preset, on in [("a", "home-1996", "ffs"), ("b", "home-1996", "ffs"), ("c", "database-files", "ffs:size=9G")]:
        life = fsage.generate.profile(preset, days=3, seed=1, output=folder / "w.parquet", force=True)
        run = fsage.age(life, on=on, output=folder / "run", snapshots=1, control=False, force=True)
        (folder / "fleet" / host).mkdir(parents=True)
        for table in run.path.glob("*/snapshots*.parquet"):
            shutil.copy(table, folder / "fleet" / host)
    return folder / "fleet"


def test_a_fleet_is_two_tables(snapshots, tmp_path):
    found = fsage.fleet(snapshots, tmp_path / "fleet")
    hosts, days = found.hosts.to_pandas(), found.days.to_pandas()
    assert list(hosts.columns) == ["host", "group", "snapshots", "days", "metric", "value", "unit"]
    assert list(days.groupby("host").size()) == [3, 3, 3]
    wide = hosts.pivot(index="host", columns="metric", values="value")
    last = days.groupby("host").last()
    assert (wide["layout_score"] == last["layout_score"]).all()
    # What was made and what went is what files there are more.
    more = last["files"] - days.groupby("host").first()["files"]
    changed = days.groupby("host")[["created_files", "deleted_files"]].sum()
    assert (changed["created_files"] - changed["deleted_files"] == more).all()
    days_seen = hosts.groupby("host")["days"].first()
    assert ((wide["created_files_per_day"] * days_seen - changed["created_files"]).abs() < 1e-6).all()
    assert [group["hosts"] for group in found.groups] == [["a", "b"], ["c"]]
    assert found.left_out == []
    with pytest.raises(fsage.InputError, match="no fleet"):
        fsage.Fleet(snapshots)


def test_a_cluster_leaves_the_bytes_of_one_machine(snapshots, tmp_path):
    distributed = pytest.importorskip("distributed")
    broken = tmp_path / "hosts"
    shutil.copytree(snapshots, broken)
    (broken / "cut").mkdir()
    (broken / "cut" / "1.parquet").write_bytes((broken / "a" / "snapshots.parquet").read_bytes()[:1000])
    with pytest.warns(fsage.Warning, match="cut is left out: .*cut/1.parquet"):
        fsage.fleet(broken / "{host}", tmp_path / "alone", threads=2)
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        heard = []
        with pytest.warns(fsage.Warning, match="cut is left out"):
            found = fsage.fleet(
                broken, tmp_path / "theirs", client=client, progress=lambda *said: heard.append(said)
            )
        assert heard[-1] == ("hosts", 4, 4)
        assert [out["host"] for out in found.left_out] == ["cut"]
        for name in FILES:
            assert (tmp_path / "alone" / name).read_bytes() == (tmp_path / "theirs" / name).read_bytes(), name
        with pytest.raises(fsage.InputError, match="no host can be read"), pytest.warns(fsage.Warning):
            fsage.fleet(broken / "cut", tmp_path / "nothing", client=client)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["alone", "hosts", "theirs"]
    with pytest.raises(fsage.InputError, match="the client is closed"):
        fsage.fleet(broken, tmp_path / "nothing", client=client)
