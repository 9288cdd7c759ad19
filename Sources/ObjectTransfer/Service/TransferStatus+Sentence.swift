internal import Foundation

extension TransferStatus {
    /// What the agent does, in one sentence for a service manager, such as “alice: 3 files to send, 1.2 MB”.
    package var sentence: String {
        let parts: [String] =
            switch activity {
            case .off: [reason ?? "beginning"]
            case .waiting, .blocked: [reason ?? activity.rawValue]
            case .paused: ["paused"]
            case .idle: waiting.isEmpty ? ["up to date", Self.files(filesInCloud, "in the cloud", nil)] : waiting
            case .working: waiting.isEmpty ? ["looking at both sides"] : waiting
            }
        let what = parts.joined(separator: "; ")
        return account.map { "\($0): \(what)" } ?? what
    }

    /// What waits, each direction by itself.
    private var waiting: [String] {
        var waiting: [String] = []
        if filesToSend > 0 { waiting.append(Self.files(filesToSend, "to send", bytesToSend)) }
        if filesToFetch > 0 { waiting.append(Self.files(filesToFetch, "to fetch", bytesToFetch)) }
        return waiting
    }

    private static func files(_ count: Int, _ what: String, _ bytes: Int64?) -> String {
        "\(count) file\(count == 1 ? "" : "s") \(what)" + (bytes.map { ", \($0.formatted(.byteCount(style: .file)))" } ?? "")
    }
}
