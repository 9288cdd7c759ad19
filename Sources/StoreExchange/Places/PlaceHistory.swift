package import StoreFormat
internal import UbiquityContainers

/// The heads of a public place that can still be read, each the predecessor of the next, by one publisher.
package struct PlaceHistory: Sendable {
    /// A head with its file.
    package struct Entry: Sendable {
        package let head: Signed<PublishedHead>
        package let bytes: [UInt8]
    }

    /// The heads, oldest first.
    package let entries: [Entry]

    /// Reads the newest head, and those before it until one is not there any more.
    ///
    /// - Parameters:
    ///   - source: the place.
    ///   - container: the container that it must be of.
    ///   - progress: receives the number of each head that has been read.
    /// - Throws: `PlaceSourceError` if the place cannot be read, or a head is not what the next one says; `LogFault` if the
    ///   newest is no head; `CancellationError`.
    package init(of source: any PlaceSource, in container: ScopeIdentifier, progress: (Int64) -> Void = { _ in }) async throws {
        guard let newest = try await source.head(unless: nil) else { throw PlaceSourceError("the place has no head") }
        var entries = [Entry(head: try Signed(decoding: newest.bytes, in: container), bytes: newest.bytes)]
        while let last = entries.last?.head, let predecessor = last.value.predecessor {
            progress(last.value.number)
            try Task.checkCancellation()
            let number = last.value.number - 1
            let bytes: [UInt8]
            do {
                bytes = try await source.head(number, predecessor)
            } catch let error as PlaceSourceError where error.isMissing {
                break
            }
            let head: Signed<PublishedHead>
            do {
                head = try Signed(decoding: bytes, in: container)
            } catch {
                throw PlaceSourceError("the head \(number) of the place is of no use: \(error)")
            }
            guard head.id == predecessor, head.value.number == number else {
                throw PlaceSourceError("the head \(number) of the place is not the one that the head \(number + 1) names")
            }
            // Another publisher's heads before that are a history of their own.
            guard head.signer == last.signer else { break }
            entries.append(Entry(head: head, bytes: bytes))
        }
        self.entries = entries.reversed()
    }

    /// The heads with which snapshots were written.
    package var snapshots: [Entry] { entries.filter { $0.head.value.snapshot == $0.head.value.number } }
}
