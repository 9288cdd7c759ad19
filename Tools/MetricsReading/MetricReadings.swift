package import CoreMetrics
internal import MetricsTestKit
package import TreeWatching

/// A backend in memory, from which a test reads what this package has recorded.
package struct MetricReadings: Sendable {
    private let backend = TestMetrics()

    package init() {}

    /// The backend, for `withMetricsFactory` and for recorders.
    package var factory: any MetricsFactory { backend }

    /// The value of a counter, summed over the dimensions that are not given.
    package func total(_ metric: UbiquityMetric, _ dimensions: [UbiquityMetric.Dimension: String] = [:]) -> Int {
        Int(backend.counterTotal(label: metric.label, dimensions: Self.pairs(dimensions)))
    }

    /// The level of a gauge; nil if it has none for these dimensions.
    package func level(_ metric: UbiquityMetric, _ dimensions: [UbiquityMetric.Dimension: String] = [:]) -> Int? {
        let meters = backend.meters(label: metric.label, dimensions: Self.pairs(dimensions))
        return meters.isEmpty ? nil : Int(meters.reduce(0) { $0 + ($1.lastValue ?? 0) })
    }

    /// The durations of a timer, in any order over the dimensions that are not given.
    package func durations(_ metric: UbiquityMetric, _ dimensions: [UbiquityMetric.Dimension: String] = [:]) -> [Duration] {
        backend.timers(label: metric.label, dimensions: Self.pairs(dimensions)).flatMap(\.values).map { .nanoseconds($0) }
    }

    /// The labels of everything that has been recorded, each with the names of its dimensions.
    package var labels: [String: [[String]]] {
        var labels: [String: [[String]]] = [:]
        func add(_ label: String, _ dimensions: [(String, String)]) { labels[label, default: []].append(dimensions.map(\.0)) }
        for counter in backend.counters { add(counter.label, counter.dimensions) }
        for timer in backend.timers { add(timer.label, timer.dimensions) }
        for meter in backend.meters { add(meter.label, meter.dimensions) }
        for recorder in backend.recorders { add(recorder.label, recorder.dimensions) }
        return labels
    }

    private static func pairs(_ dimensions: [UbiquityMetric.Dimension: String]) -> [(String, String)] {
        dimensions.map { ($0.key.rawValue, $0.value) }
    }
}
