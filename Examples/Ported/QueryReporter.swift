#if canImport(UbiquityFoundation)
    import UbiquityFoundation
#else
    import Foundation
#endif

/// A query as it is written for Apple's systems: it prints its notifications, each with the names of the results.
final class QueryReporter {
    private let query = NSMetadataQuery()
    private let queue = OperationQueue()

    init() {
        queue.maxConcurrentOperationCount = 1
        query.operationQueue = queue
        query.searchScopes = [NSMetadataQueryUbiquitousDocumentsScope]
        query.predicate = NSPredicate(block: { _, _ in true })
        for name in [Notification.Name.NSMetadataQueryDidStartGathering, .NSMetadataQueryDidFinishGathering, .NSMetadataQueryDidUpdate] {
            _ = NotificationCenter.default.addObserver(forName: name, object: query, queue: nil) { Self.report($0) }
        }
    }

    private static func report(_ notification: Notification) {
        guard let query = notification.object as? NSMetadataQuery else { return }
        let word =
            switch notification.name {
            case .NSMetadataQueryDidStartGathering: "started"
            case .NSMetadataQueryDidFinishGathering: "finished"
            default: "updated"
            }
        let names = query.results.compactMap { ($0 as? NSMetadataItem)?.value(forAttribute: NSMetadataItemFSNameKey) as? String }
        say(([word] + names.sorted()).joined(separator: " "))
    }

    /// Runs the query until standard input ends.
    func run() {
        query.start()
        while readLine() != nil {}
        query.stop()
    }

    /// The documents of the first container.
    static func documents() throws -> URL {
        guard let container = FileManager.default.url(forUbiquityContainerIdentifier: nil) else { throw CocoaError(.ubiquitousFileUnavailable) }
        let documents = container.appendingPathComponent("Documents", isDirectory: true)
        try FileManager.default.createDirectory(at: documents, withIntermediateDirectories: true)
        return documents
    }
}
