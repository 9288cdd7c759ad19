import CoreMetrics
import MetricsReading
import MetricsTestKit
import Testing

@testable import TreeWatching

/// How values reach a backend of swift-metrics.
struct MetricRecorderTests {
    @Test("a value has the label and all dimensions of its metric, and a duration below zero counts as zero")
    func values() {
        let readings = MetricReadings()
        let recorder = MetricRecorder([.content: "Notes"], factory: readings.factory)
        recorder.count(.importedChanges, by: 3, [.change: "inserted"])
        recorder.count(.importedChanges, by: 2, [.change: "deleted"])
        recorder.count(.importedChanges, [.change: "deleted"])
        recorder.count(.conflicts, by: 0)
        recorder.time(.deliveryDelay, .milliseconds(1500))
        recorder.time(.deliveryDelay, .seconds(-7))
        #expect(readings.total(.importedChanges, [.content: "Notes", .change: "inserted"]) == 3)
        #expect(readings.total(.importedChanges, [.change: "deleted"]) == 3)
        #expect(readings.durations(.deliveryDelay, [.content: "Notes"]) == [.milliseconds(1500), .zero])
        // Nothing is made for a count of nothing.
        #expect(
            readings.labels == [
                "ubiquity_imported_changes_total": [["content", "change"], ["content", "change"]], "ubiquity_delivery_delay_seconds": [["content"]],
            ])
    }

    @Test("a gauge is the sum over recorders, and a recorder that is released takes its part away")
    func levels() {
        let readings = MetricReadings()
        let one = MetricRecorder([.content: "Notes"], factory: readings.factory)
        var two: MetricRecorder? = one.another()
        let other = one.another([.content: "Tasks"])
        one.set(.waitingLogs, to: 5)
        two!.set(.waitingLogs, to: 2)
        other.set(.waitingLogs, to: 100)
        #expect(readings.level(.waitingLogs, [.content: "Notes"]) == 7)
        one.set(.waitingLogs, to: 1)
        #expect(readings.level(.waitingLogs, [.content: "Notes"]) == 3)
        two = nil
        #expect(readings.level(.waitingLogs, [.content: "Notes"]) == 1 && readings.level(.waitingLogs, [.content: "Tasks"]) == 100)
        withExtendedLifetime((one, other)) {}
    }

    /// A backend that has no meters of its own, as some have not.
    private final class GaugeBackend: MetricsFactory {
        let recorded = TestMetrics()
        func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
            recorded.makeCounter(label: label, dimensions: dimensions)
        }
        func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
            recorded.makeRecorder(label: label, dimensions: dimensions, aggregate: aggregate)
        }
        func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
            recorded.makeTimer(label: label, dimensions: dimensions)
        }
        func destroyCounter(_ handler: any CounterHandler) { recorded.destroyCounter(handler) }
        func destroyRecorder(_ handler: any RecorderHandler) { recorded.destroyRecorder(handler) }
        func destroyTimer(_ handler: any TimerHandler) { recorded.destroyTimer(handler) }
    }

    @Test("a backend without meters gets the sum too, not the last recorder's part")
    func withoutMeters() throws {
        let backend = GaugeBackend()
        let recorders = (0..<3).map { _ in MetricRecorder([.content: "Notes"], factory: backend) }
        for recorder in recorders { recorder.set(.suspendedStores, to: 1) }
        recorders[0].set(.suspendedStores, to: 0)
        let gauge = try #require(backend.recorded.recorders(label: UbiquityMetric.suspendedStores.label).first)
        #expect(gauge.values == [1, 2, 3, 2])
        withExtendedLifetime(recorders) {}
    }

    @Test("a backend that the app chooses later gets the levels so far, and the values from then on")
    func laterBackend() async {
        let readings = MetricReadings()
        let recorder = MetricRecorder([.content: "Notes"], factory: NOOPMetricsHandler.instance)
        recorder.set(.suspendedStores, to: 1)
        recorder.count(.conflicts, by: 4)
        #expect(!recorder.isActive)
        withMetricsFactory(readings.factory) { recorder.count(.conflicts, by: 2) }
        #expect(recorder.isActive && readings.total(.conflicts) == 2 && readings.level(.suspendedStores) == 1)
        // It stays with the one that it has found.
        let other = MetricReadings()
        withMetricsFactory(other.factory) { recorder.count(.conflicts) }
        #expect(readings.total(.conflicts) == 3 && other.labels.isEmpty)
    }

    @Test("a label is made of lower-case words, and its end says what is recorded")
    func labels() {
        for metric in UbiquityMetric.allCases {
            #expect(metric.label.wholeMatch(of: /ubiquity(_[a-z]+)+/) != nil, "\(metric.label)")
            #expect(metric.label.hasSuffix("_total") == (metric.kind == .counter), "\(metric.label)")
            #expect(metric.label.hasSuffix("_seconds") == (metric.kind == .timer), "\(metric.label)")
            #expect(Set(metric.dimensions).count == metric.dimensions.count)
        }
        let used = Set(UbiquityMetric.allCases.flatMap(\.dimensions))
        #expect(used == Set(UbiquityMetric.Dimension.allCases))
    }
}
