import BareInotify
import Foundation
import Glibc
import SystemPackage
import TreeWatching

/// Measures the watcher against a minimal C loop in one run, and against other tools.
enum WatchingSuite: Suite {
    private static let rounds = 5

    static func run(_ report: Report) async throws {
        for place: FilePath in ["/dev/shm", "/var/tmp"] {
            let variant = place == "/dev/shm" ? "tmpfs" : "disk"
            guard report.wants(variant: variant) else { continue }
            try latency(report, place, variant)
            try await inProcess(report, place, variant)
            try losses(report, place, variant)
            try setUp(report, place, variant)
            try rename(report, place, variant)
        }
    }

    // MARK: Latency

    private static func latency(_ report: Report, _ place: FilePath, _ variant: String) throws {
        guard report.wants("latency_p50") || report.wants("latency_p99") else { return }
        func measure(_ tool: WatchingTool) throws -> Percentiles? {
            try withStage(place) { workload in
                guard let run = try WatchingRun(tool, workload.root) else { return nil }
                defer { run.stop() }
                return percentiles(workload.renames(2000), run.heard, patience: tool.listsNames ? 3_000_000 : 100_000)
            }
        }
        try compare(report, "latency", variant, measure(.ours), measure(.bare))
        for tool in WatchingTool.others {
            guard let ours = try measure(.ours), let theirs = try measure(tool) else { continue }
            line(report, "latency", "\(variant), \(tool.name)", ours, theirs, tool.name, main: false)
        }
    }

    private static func inProcess(_ report: Report, _ place: FilePath, _ variant: String) async throws {
        if report.wants("tap_p50") || report.wants("tap_p99") {
            try compare(report, "tap", variant, tap(place), bare(place))
        }
        if report.wants("sequence_p50") || report.wants("sequence_p99") {
            func ours() throws -> Percentiles? {
                try withStage(place) { workload in
                    let heard = Heard()
                    let watcher = try TreeWatcher(workload.root)
                    defer { watcher.close() }
                    let reader = Task.detached {
                        for await batch in watcher.changes {
                            let now = monotonic()
                            for change in batch { note(change, heard, at: now) }
                        }
                    }
                    defer { reader.cancel() }
                    while !heard.isReady { usleep(100) }
                    return percentiles(workload.renames(2000), heard)
                }
            }
            try compare(report, "sequence", variant, ours(), bare(place))
            // This shows the cost of a second thread in C, which corresponds to the sequence's reader.
            try compare(
                report, "sequence", "\(variant), two threads in C", ours(), bare(place, threads: 2), name: "bare C loop with a second thread",
                main: false)
            // This shows what an app saves that takes its changes on the watching thread.
            try compare(report, "sequence", "\(variant), a tap", ours(), tap(place), name: "a tap on the watching thread", main: false)
        }
    }

    private static func tap(_ place: FilePath) throws -> Percentiles? {
        try withStage(place) { workload in
            let heard = Heard()
            let watcher = try TreeWatcher(workload.root)
            defer { watcher.close() }
            watcher.tap { batch in
                let now = monotonic()
                for change in batch { note(change, heard, at: now) }
            }
            while !heard.isReady { usleep(100) }
            return percentiles(workload.renames(2000), heard)
        }
    }

    /// Runs the minimal loop in this process, on a thread like the watcher's, so that both have one scheduler.
    private static func bare(_ place: FilePath, threads: Int = 1) throws -> Percentiles? {
        try withStage(place) { workload in
            let heard = Heard()
            let ended = DispatchSemaphore(value: 0)
            Thread.detachNewThread {
                let context = Unmanaged.passUnretained(heard).toOpaque()
                if threads == 1 {
                    bare_inotify(workload.root.string, 1, report, { _ in }, context)
                } else {
                    bare_inotify_two_threads(workload.root.string, report, context)
                }
                ended.signal()
            }
            while !heard.isReady { usleep(100) }
            let figures = percentiles(workload.renames(2000), heard)
            try FileManager.default.removeItem(atPath: workload.root.string)
            ended.wait()
            return figures
        }
    }

    private static let report: bare_report = { context, directory, name in
        let now = monotonic()
        let heard = Unmanaged<Heard>.fromOpaque(context!).takeUnretainedValue()
        if directory == nil, !heard.isReady { heard.setReady() } else { heard.note(String(cString: name!), at: now) }
    }

    private static func note(_ change: TreeChange, _ heard: Heard, at now: Int64) {
        if change.kind == .ready { heard.setReady() }
        if let name = change.path.lastComponent?.string { heard.note(name, at: now) }
    }

    private typealias Percentiles = (p50: Double, p99: Double)

    /// Returns the microseconds from before each rename to its report.
    private static func percentiles(_ done: [(name: String, time: Int64)], _ heard: Heard, patience: UInt32 = 100_000) -> Percentiles? {
        usleep(patience)
        let times = done.compactMap { done in heard.time(of: done.name).map { Double($0 - done.time) / 1000 } }.sorted()
        if times.count < done.count * 9 / 10 { return nil }
        return (times[times.count / 2], times[times.count * 99 / 100])
    }

    /// Compares medians of several rounds, with alternating sides, so that a disturbance affects both.
    private static func compare(
        _ report: Report, _ metric: String, _ variant: String, _ ours: @autoclosure () throws -> Percentiles?,
        _ reference: @autoclosure () throws -> Percentiles?, name: String = WatchingTool.bare.name, main: Bool = true
    ) throws {
        var (mine, theirs): ([Percentiles], [Percentiles]) = ([], [])
        for _ in 0..<rounds {
            if let figures = try ours() { mine.append(figures) }
            if let figures = try reference() { theirs.append(figures) }
        }
        line(
            report, metric, variant, (median(mine.map(\.p50)), median(mine.map(\.p99))), (median(theirs.map(\.p50)), median(theirs.map(\.p99))),
            name, main: main)
    }

    private static func line(
        _ report: Report, _ metric: String, _ variant: String, _ ours: Percentiles, _ reference: Percentiles, _ name: String, main: Bool = true
    ) {
        report.line("\(metric)_p50", variant: variant, unit: "µs", ours: ours.p50, reference: reference.p50, referenceName: name, main: main)
        report.line("\(metric)_p99", variant: variant, unit: "µs", ours: ours.p99, reference: reference.p99, referenceName: name, main: main)
    }

    // MARK: Losses

    private struct Loss {
        var lost: Double
        /// The number of files reported in a second, from the first change to the last report.
        var rate: Double
    }

    private static func losses(_ report: Report, _ place: FilePath, _ variant: String) throws {
        let tests: [(metric: String, work: (WatchingWorkload, WatchingRun) -> WatchingWorkload.Names)] = [
            ("storm_lost", { work, _ in work.storm() }), ("mkdirp_lost", { work, _ in work.makeParents() }),
            ("movein_lost", { work, _ in work.moveIn() }), ("crossed_lost", { work, _ in work.crossed() }),
            ("overflow_lost", { work, run in work.overflow(run.process.processIdentifier) }), ("wipe_lost", { work, run in work.wipe(run.hears) }),
            ("root_recreate_lost", { work, run in work.recreateRoot(run.hears) }),
        ]
        for (metric, work) in tests {
            let isStorm = metric == "storm_lost"
            guard report.wants(metric) || isStorm && report.wants("storm_files_per_second") else { continue }
            func measure(_ tool: WatchingTool) throws -> Loss? {
                try withStage(place) { workload in
                    guard let run = try WatchingRun(tool, workload.root) else { return nil }
                    defer { run.stop() }
                    let began = monotonic()
                    let names = work(workload, run)
                    // Wait until everything is reported, or no report has arrived for a while.
                    var quietSince = monotonic()
                    var count = run.heard.count
                    while run.heard.lost(of: names) > 0, monotonic() - quietSince < 1_500_000_000 {
                        usleep(2_000)
                        if run.heard.count != count { (count, quietSince) = (run.heard.count, monotonic()) }
                    }
                    let lost = run.heard.lost(of: names)
                    return Loss(lost: Double(lost), rate: Double(names.count - lost) / (Double(max(1, run.heard.last - began)) / 1e9))
                }
            }
            var (mine, theirs): ([Loss], [Loss]) = ([], [])
            for _ in 0..<(metric.hasPrefix("root") || metric.hasPrefix("wipe") ? 3 : rounds) {
                if let figures = try measure(.ours) { mine.append(figures) }
                if let figures = try measure(.bare) { theirs.append(figures) }
            }
            // A loss is measured in the worst round.
            if report.wants(metric) {
                report.line(
                    metric, variant: variant, unit: "files", ours: mine.map(\.lost).max() ?? .nan, reference: theirs.map(\.lost).max(),
                    referenceName: WatchingTool.bare.name, hasRatio: false)
                for tool in WatchingTool.others {
                    guard tool.canBeStopped || metric != "overflow_lost", let figures = try measure(tool) else { continue }
                    report.line(
                        metric, variant: "\(variant), \(tool.name)", unit: "files", ours: mine.map(\.lost).max() ?? .nan, reference: figures.lost,
                        referenceName: tool.name, main: false, hasRatio: false)
                }
            }
            if isStorm, report.wants("storm_files_per_second") {
                report.line(
                    "storm_files_per_second", variant: variant, unit: "1/s", ours: median(mine.map(\.rate)), reference: median(theirs.map(\.rate)),
                    referenceName: WatchingTool.bare.name)
            }
        }
    }

    // MARK: Sizes

    private static func setUp(_ report: Report, _ place: FilePath, _ variant: String) throws {
        guard report.wants("setup_50k_ms") || report.wants("setup_50k_rss") else { return }
        try withStage(place) { workload in
            workload.makeTree(50_000)
            let empty = workload.outside.appending("empty")
            workload.make(empty)
            struct Figures {
                var time: [Double] = []
                var memory: [Double] = []
                var growth: [Double] = []
            }
            func measure(_ tool: WatchingTool, _ figures: inout Figures) throws {
                guard let base = try WatchingRun(tool, empty) else { return }
                let before = base.residentMemory
                base.stop()
                guard let run = try WatchingRun(tool, workload.root) else { return }
                figures.time.append(run.setUp)
                figures.memory.append(run.residentMemory)
                figures.growth.append(run.residentMemory - before)
                run.stop()
            }
            var (ours, bare) = (Figures(), Figures())
            for _ in 0..<rounds {
                try measure(.ours, &ours)
                try measure(.bare, &bare)
            }
            let name = WatchingTool.bare.name
            report.line("setup_50k_ms", variant: variant, unit: "ms", ours: median(ours.time), reference: median(bare.time), referenceName: name)
            report.line(
                "setup_50k_rss", variant: "\(variant), for the directories", unit: "kB", ours: median(ours.growth), reference: median(bare.growth),
                referenceName: name)
            report.line(
                "setup_50k_rss", variant: "\(variant), whole process", unit: "kB", ours: median(ours.memory), reference: median(bare.memory),
                referenceName: name, main: false)
            for tool in WatchingTool.others where tool.name == "inotifywait" {
                var theirs = Figures()
                try measure(tool, &theirs)
                report.line(
                    "setup_50k_ms", variant: "\(variant), \(tool.name)", unit: "ms", ours: median(ours.time), reference: median(theirs.time),
                    referenceName: tool.name, main: false)
            }
        }
    }

    /// Measures the time from renaming the top of a tree of 100,000 files and directories to the report, and likewise
    /// for a tree of 10.
    private static func rename(_ report: Report, _ place: FilePath, _ variant: String) throws {
        guard report.wants("rename_100k_tree_us") else { return }
        func measure(_ tool: WatchingTool, _ count: Int) throws -> Double {
            try withStage(place) { workload in
                let inside = WatchingWorkload(root: workload.root.appending("top"), outside: workload.outside)
                inside.make(inside.root)
                inside.makeTree(count)
                guard let run = try WatchingRun(tool, workload.root) else { return .nan }
                defer { run.stop() }
                var times: [Double] = []
                var present = workload.root.appending("top")
                for number in 0..<9 {
                    usleep(100_000)
                    let name = "top\(number)"
                    let began = monotonic()
                    Glibc.rename(present.string, workload.root.appending(name).string)
                    present = workload.root.appending(name)
                    var waited = 0
                    while run.heard.time(of: name) == nil, waited < 20_000 {
                        usleep(100)
                        waited += 1
                    }
                    // A file written below it now must have the new name in its report, so the renaming is finished.
                    workload.write(present.appending("d0"), "probe\(number)")
                    while run.heard.time(of: "probe\(number)") == nil, waited < 40_000 {
                        usleep(100)
                        waited += 1
                    }
                    if let time = run.heard.time(of: name) { times.append(Double(time - began) / 1000) }
                }
                return median(times)
            }
        }
        let (large, small, bare) = (try measure(.ours, 100_000), try measure(.ours, 10), try measure(.bare, 100_000))
        report.line("rename_100k_tree_us", variant: variant, unit: "µs", ours: large, reference: bare, referenceName: WatchingTool.bare.name)
        report.line(
            "rename_100k_tree_us", variant: "\(variant), against a tree of 10", unit: "µs", ours: large, reference: small, referenceName: "ubwatch",
            main: false)
    }

    // MARK: The stage

    private static func withStage<R>(_ place: FilePath, _ body: (WatchingWorkload) throws -> R) throws -> R {
        let top = place.appending("ubiquity-bench-\(getpid())-\(UInt32.random(in: .min ... .max))")
        let workload = WatchingWorkload(root: top.appending("tree"), outside: top.appending("outside"))
        for directory in [top, workload.root, workload.outside] { workload.make(directory) }
        defer { try? FileManager.default.removeItem(atPath: top.string) }
        return try body(workload)
    }
}
