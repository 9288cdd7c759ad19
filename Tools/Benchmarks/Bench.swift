import ArgumentParser
import Foundation
import SystemPackage

/// Measures the package against references, both in the same run.
@main
struct Bench: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench",
        abstract: "Measure the package against references, both in the same run.",
        discussion: """
            Suites: \(Suites.all.keys.sorted().joined(separator: ", ")).
            Each line of --json is an object: suite, metric, variant, unit, ours, reference, reference_name, ratio (ours ÷ reference), and main, \
            which is false on lines against other tools. Figures are medians of several runs.
            """
    )

    @Argument(help: "The suites to run.")
    var suites: [String]

    @Option(help: ArgumentHelp("Only metrics with this prefix.", valueName: "prefix"))
    var metric: String?

    @Option(help: ArgumentHelp("Only variants with this prefix, in suites with variants: tmpfs or disk for watching.", valueName: "prefix"))
    var variant: String?

    @Option(
        help: ArgumentHelp(
            "The greatest number of logs, heads or contributors of a content, in the suite public; 100000 by default, and at most 1000000.",
            valueName: "number"))
    var size: Int?

    @Option(
        help: ArgumentHelp(
            "The directory of packages that Tools/package has made, whose sizes and start-up times the suite tools then measures.",
            valueName: "dir"))
    var packages: String?

    @Flag(help: "Print one JSON object a line.")
    var json = false

    func validate() throws {
        for suite in suites where Suites.all[suite] == nil {
            throw ValidationError("There is no suite “\(suite)”; there are: \(Suites.all.keys.sorted().joined(separator: ", ")).")
        }
    }

    func run() async throws {
        for suite in suites {
            let report = Report(
                suite: suite, json: json, prefix: metric ?? "", variantPrefix: variant ?? "", size: size, packages: packages.map { FilePath($0) })
            try await Suites.all[suite]!.run(report)
        }
    }
}

/// The suites, by name.
enum Suites {
    static let all: [String: any (Suite & Sendable).Type] = [
        "coordination": CoordinationSuite.self, "lifecycle": LifecycleSuite.self, "public": PublicSuite.self, "store": StoreSuite.self,
        "transfer": TransferSuite.self,
        "tools": ToolsSuite.self, "watching": WatchingSuite.self,
    ]
}

/// A set of measurements.
protocol Suite: Sendable {
    /// Measures, and reports each figure as soon as it is known.
    static func run(_ report: Report) async throws
}
