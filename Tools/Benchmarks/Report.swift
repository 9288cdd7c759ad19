import Foundation
import SystemPackage

/// Prints figures, one line each.
struct Report {
    let suite: String
    let json: Bool
    let prefix: String
    var variantPrefix = ""
    /// The greatest size of a content, in suites that make contents of several sizes; nil for the usual one.
    var size: Int?
    /// The directory of packages that are measured too.
    var packages: FilePath?

    /// Returns whether a variant is requested, in full or by its first characters.
    func wants(variant: String) -> Bool { variant.hasPrefix(variantPrefix) }

    /// Returns whether a metric is requested.
    func wants(_ metric: String) -> Bool { metric.hasPrefix(prefix) }

    /// Reports one figure.
    ///
    /// - Parameters:
    ///   - metric: the name.
    ///   - variant: distinguishes the lines of one metric.
    ///   - unit: the unit of both sides.
    ///   - ours: the median of this package.
    ///   - reference: the median of the reference, if there is one.
    ///   - referenceName: a description of the reference.
    ///   - main: false on lines against other tools.
    ///   - hasRatio: false for counts, for which a ratio is meaningless.
    func line(
        _ metric: String, variant: String = "", unit: String, ours: Double, reference: Double? = nil, referenceName: String? = nil, main: Bool = true,
        hasRatio: Bool = true
    ) {
        let ratio = hasRatio ? reference.flatMap { $0 > 0 ? ours / $0 : nil } : nil
        let figure = Figure(
            suite: suite, metric: metric, variant: variant, unit: unit, ours: ours, reference: reference, referenceName: referenceName, ratio: ratio,
            main: main)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes, .sortedKeys]
        let text: String
        if json {
            text = String(decoding: (try? encoder.encode(figure)) ?? Data(), as: UTF8.self)
        } else {
            func number(_ value: Double?) -> String { value.map { String(format: "%.4g", $0) } ?? "–" }
            text =
                "\(suite) \(metric)\(variant.isEmpty ? "" : " [\(variant)]"): \(number(ours)) \(unit); \(referenceName ?? "no reference") \(number(reference)); ratio \(number(ratio))"
        }
        FileHandle.standardOutput.write(Data((text + "\n").utf8))
    }

    private struct Figure: Encodable {
        var suite: String
        var metric: String
        var variant: String
        var unit: String
        var ours: Double
        var reference: Double?
        var referenceName: String?
        var ratio: Double?
        var main: Bool

        enum CodingKeys: String, CodingKey {
            case suite, metric, variant, unit, ours, reference
            case referenceName = "reference_name"
            case ratio, main
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(suite, forKey: .suite)
            try container.encode(metric, forKey: .metric)
            try container.encode(variant, forKey: .variant)
            try container.encode(unit, forKey: .unit)
            try container.encode(ours, forKey: .ours)
            try container.encode(reference, forKey: .reference)
            try container.encode(referenceName, forKey: .referenceName)
            try container.encode(ratio, forKey: .ratio)
            try container.encode(main, forKey: .main)
        }
    }
}

/// Returns the median of several figures.
func median(_ figures: [Double]) -> Double {
    let sorted = figures.sorted()
    guard !sorted.isEmpty else { return .nan }
    let middle = sorted.count / 2
    return sorted.count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
}

/// Returns the seconds that a body takes.
func seconds(_ body: () async throws -> Void) async rethrows -> Double {
    let clock = ContinuousClock()
    let start = clock.now
    try await body()
    let duration = clock.now - start
    return Double(duration.components.seconds) + Double(duration.components.attoseconds) * 1e-18
}
