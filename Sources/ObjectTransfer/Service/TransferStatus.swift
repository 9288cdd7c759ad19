package import Foundation
package import UbiquityContainers

/// What an agent does, at one moment.
package struct TransferStatus: Sendable, Hashable, Codable {
    /// What the agent does.
    package enum Activity: String, Sendable, Codable {
        /// No account is signed in, or it has no cloud.
        case off
        /// A person has paused it.
        case paused
        /// Everything is where it should be.
        case idle
        /// It sends, fetches or looks.
        case working
        /// The remote does not answer; it tries again.
        case waiting
        /// A person has to do something.
        case blocked
    }

    /// A file that does not get on.
    package struct Fault: Sendable, Hashable, Codable {
        package var path: String
        package var reason: String
        package var attempts: Int
    }

    package var activity: Activity
    package var account: String?
    package var remote: String?
    /// The stable name of what blocks it; nil if nothing does.
    package var block: String?
    /// Why it waits or is blocked, with the remedy.
    package var reason: String?
    /// Since when it has been as it is.
    package var since: Date?
    /// When it asks the remote next, if nothing happens before.
    package var next: Date?
    /// The identifier under which this device publishes, and the number of its newest bulletin.
    package var device: String?
    package var bulletin: Int64?
    /// The other devices that have published.
    package var others: [String] = []
    /// The files and bytes that wait to be sent and fetched.
    package var filesToSend = 0
    package var bytesToSend: Int64 = 0
    package var filesToFetch = 0
    package var bytesToFetch: Int64 = 0
    /// The files that the cloud has and that are here.
    package var filesInCloud = 0
    /// The documents that the cloud has and this device has not, by its policy or because they were evicted.
    package var documentsElsewhere = 0
    package var transfers: [TransferBoard.Entry] = []
    package var faults: [Fault] = []
    /// The bulletins that cannot be read, with the reasons.
    package var quarantine: [String: String] = [:]
    /// The containers in which a person decides on removals, with the number of files.
    package var guarded: [String: Int] = [:]
    /// The bytes of whole files since the agent began.
    package var sent: Int64 = 0
    package var received: Int64 = 0
    package var bytesPerSecond: Int64?
    package var isMetered = false

    package init(_ activity: Activity) { self.activity = activity }
}

/// A request to an agent, one line of JSON.
package enum TransferRequest: Sendable, Hashable, Codable {
    case status
    /// Looks and transfers at once; answered when a pass has ended.
    case now
    case pause
    case resume
    case republish
    case verify
    /// Lets a container's removals happen.
    case allowRemovals(container: String)
    /// Limits the bytes a second; nil for no limit.
    case limit(bytesPerSecond: Int64?)
    case metered(Bool)
    /// The states of files, by their paths below the account's containers.
    case states([String])
    /// The files below a directory that the cloud has and this device has not.
    case elsewhere(below: String)
    /// Fetches documents, by their paths below the account's containers; answered when they are here, or at once.
    case fetch([String], waits: Bool)
    /// Evicts a document; the asking process holds a coordinated write of it.
    case evict(String)
    /// Reads again which documents the device keeps.
    case downloadsChanged
    /// A file has just been written in a directory.
    case published
    /// A status at once, and another after each change; the connection stays open.
    case follow
}

/// The answer of an agent, one line of JSON.
package enum TransferAnswer: Sendable, Hashable, Codable {
    case status(TransferStatus)
    case done
    case verified(TransferRunner.Verification)
    case states([String: TransferItemState])
    case failed(String)
}
