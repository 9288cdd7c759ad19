internal import StoreRecords

extension StoreRequest {
    /// The answer to a missing content; nil if the task is not about that.
    var wipeAnswer: WipePolicy.Answer? {
        switch self {
        case .rebuild: nil
        case .republish, .finishRepublishing: .republish
        case .follow: .follow
        }
    }
}
