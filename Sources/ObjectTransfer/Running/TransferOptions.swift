/// The numbers by which a transfer runs.
package struct TransferOptions: Hashable, Sendable {
    /// How many files are sent or fetched at the same time.
    package var width = 8
    /// How many files a bulletin names at most, so that others need not wait for all of a long upload.
    package var filesInOneBulletin = 1000
    /// How many bytes are uploaded before a bulletin names them.
    package var bytesInOneBulletin: Int64 = 64 << 20
    /// How long the objects of removed files stay.
    package var keepsRemoved = Duration.seconds(7 * 86400)

    /// The free bytes of this device below which nothing is fetched.
    package static let leastFree: Int64 = 512_000_000

    package init() {}
}
